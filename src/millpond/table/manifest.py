"""The manifest: which archive files are live, and up to which row the archive goes. Its format is Delta Lake's log.

Idea. The archive of a table is a folder of Parquet files plus `_delta_log/`, an open format that Spark, DuckDB, Polars
and others read directly. We write that log ourselves: with one writer a commit is one small synced file, and our own
facts (position, intake state, bounds of event time) travel inside it, so rows and position change together.

Invariants
 1. Commit v is the file `_delta_log/<v>.json`; it is complete or absent. Versions have no gap.
 2. `position` never decreases. Files of version v hold exactly the rows below its position, less expired and deleted.
 3. A file named by a manifest is never changed; it is deleted only after `GRACE` has passed since it was removed.
 4. The newest commit file always exists beside any checkpoint (our state is read from it).
 5. Commits, checkpoints and files carry checksums, and `_anchor` tells which version is the newest (see `millpond.anchor`):
    a commit that is missing, changed or not ours is damage, and told as such. It concerns this archive only.
"""

from __future__ import annotations

import contextlib
import json
import uuid
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from millpond.anchor import Anchor
from millpond.durable import disk_errors, make_folder, sync_file, sync_folder, write_file
from millpond.errors import CorruptBlock, PondError
from millpond.failpoints import reach
from millpond.schema import Schema, with_seq
from millpond.table.delta import (
    PROTOCOL,
    commit_check,
    commit_info,
    commit_path,
    decode_commit,
    encode_commit,
    metadata,
    schema_from_delta,
)

ANCHOR = "_anchor"  # an underscore hides it from other readers
CHECKPOINT_EVERY = 50
_KEPT_COMMITS = 20


@dataclass(frozen=True)
class Copy:
    """The rows of an archive file with a draw below `high`, in a file of their own beside it, which other readers do not see."""

    path: str
    size: int
    rows: int
    high: int
    crc: int


@dataclass(frozen=True)
class ArchiveFile:
    """One Parquet file of the archive.

    `least` and `greatest` bound its event times; `minima`/`maxima` bound the columns that have bounds, as JSON
    values; `indexed` names the columns with a value index beside the file; `columns` are the columns it has. `crc` is
    the CRC-32 of the whole file, because not every reader checks the pages. A block of a randomised run names its `run` and
    the `draws` of its rows. `copies` are thinned copies beside the file.
    """

    path: str
    size: int
    rows: int
    least: int
    greatest: int
    first_seq: int
    last_seq: int
    compartment: int
    shard: int
    columns: tuple[str, ...]
    minima: Mapping[str, Any]
    maxima: Mapping[str, Any]
    nulls: Mapping[str, int] = field(default_factory=dict)
    indexed: tuple[str, ...] = ()
    clustered: tuple[str, ...] = ()
    crc: int | None = None
    run: str | None = None
    draws: tuple[int, int] | None = None
    copies: tuple[Copy, ...] = ()

    def to_action(self, now_ms: int) -> dict[str, Any]:
        own: dict[str, Any] = {
            "least": self.least,
            "greatest": self.greatest,
            "seq": [self.first_seq, self.last_seq],
            "compartment": self.compartment,
            "shard": self.shard,
            "columns": self.columns,
            "indexed": self.indexed,
            "clustered": self.clustered,
            "crc": self.crc,
            "bounds": {c: [self.minima[c], self.maxima[c]] for c in self.minima},
        }
        if self.run is not None:
            own |= {"run": self.run, "draws": self.draws}
        if self.copies:
            own["copies"] = [[c.path, c.size, c.rows, c.high, c.crc] for c in self.copies]
        stats = {"numRecords": self.rows, "minValues": {}, "maxValues": {}, "nullCount": dict(self.nulls)}
        for column in self.minima:  # only plain numbers are given to other readers: no question of text formats
            if isinstance(self.minima[column], int) and not isinstance(self.minima[column], bool):
                stats["minValues"][column] = self.minima[column]  # type: ignore[index]
                stats["maxValues"][column] = self.maxima[column]  # type: ignore[index]
        return {
            "path": self.path,
            "partitionValues": {},
            "size": self.size,
            "modificationTime": now_ms,
            "dataChange": True,
            "stats": json.dumps(stats, separators=(",", ":")),
            "tags": {"millpond": json.dumps(own, separators=(",", ":"))},
        }

    @classmethod
    def from_action(cls, add: Mapping[str, Any]) -> ArchiveFile:
        stats = json.loads(add["stats"])
        tags = add["tags"]
        own = json.loads(tags["millpond"] if isinstance(tags, Mapping) else dict(tags)["millpond"])
        bounds = own["bounds"]
        return cls(
            path=add["path"],
            size=add["size"],
            rows=stats["numRecords"],
            least=own["least"],
            greatest=own["greatest"],
            first_seq=own["seq"][0],
            last_seq=own["seq"][1],
            compartment=own["compartment"],
            shard=own["shard"],
            columns=tuple(own["columns"]),
            minima={c: b[0] for c, b in bounds.items()},
            maxima={c: b[1] for c, b in bounds.items()},
            nulls=stats.get("nullCount", {}),
            indexed=tuple(own["indexed"]),
            clustered=tuple(own["clustered"]),
            crc=own["crc"],
            run=own.get("run"),
            draws=tuple(own["draws"]) if "draws" in own else None,
            copies=tuple(Copy(*copy) for copy in own.get("copies", ())),
        )


@dataclass(frozen=True)
class Version:
    """The archive at one commit: a value, safe to keep while newer commits appear."""

    number: int
    position: int
    files: Mapping[str, ArchiveFile]
    state: Mapping[str, Any]
    schema: Schema
    table_id: str = ""

    @property
    def rows(self) -> int:
        return sum(f.rows for f in self.files.values())

    @property
    def bytes(self) -> int:
        return sum(f.size for f in self.files.values())


_NOTHING = Version(-1, 0, {}, {}, Schema(()))


class Manifest:
    """Reads and, in the writing process, commits versions. Not thread safe; `current` may be read from anywhere.

    `damage` is why the log cannot be read, if so: then `current` is empty and nothing can be committed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "_delta_log"
        self._anchor = Anchor(folder / ANCHOR)
        self._check = 0  # the checksum of the newest commit
        self._checkpoint = (-1, 0)  # the version of the newest checkpoint, and its checksum
        self.damage: PondError | None = None
        self.current = _NOTHING
        self._try_to_load()

    @property
    def label(self) -> str:
        """What messages call it: the folder, and the one it is in."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @classmethod
    def create(cls, folder: Path, schema: Schema, state: Mapping[str, Any], now_ms: int) -> Manifest:
        """Make an empty archive with `schema` (to which `_seq` is added)."""
        log = folder / "_delta_log"
        make_folder(log)
        stored = with_seq(schema)
        actions = [commit_info("CREATE TABLE", 0, state, now_ms), PROTOCOL, metadata(stored, str(uuid.uuid4()), now_ms)]
        write_file(commit_path(log, 0), encode_commit(actions), replace=False)
        made = cls(folder)
        made._note()
        return made

    def _note(self) -> None:
        """Note how far the log goes."""
        version, check = self._checkpoint
        self._anchor.note(version=self.current.number, check=self._check, checkpoint=version, checkpoint_check=check)

    def commit(
        self,
        *,
        add: Iterable[ArchiveFile] = (),
        remove: Iterable[str] = (),
        position: int | None = None,
        state: Mapping[str, Any] | None = None,
        schema: Schema | None = None,
        operation: str,
        now_ms: int,
    ) -> Version:
        """Make the next version durable, all of it or nothing."""
        if self.damage is not None:
            raise self.damage
        old = self.current
        position = old.position if position is None else position
        state = old.state if state is None else state
        assert position >= old.position, "the archive position went backwards"
        added = list(add)
        removed = list(remove)
        actions: list[dict[str, Any]] = [
            commit_info(operation, position, state, now_ms),
            {"txn": {"appId": "millpond", "version": position, "lastUpdated": now_ms}},
        ]
        stored = old.schema
        if schema is not None:
            stored = with_seq(schema)
            actions.append(metadata(stored, old.table_id, now_ms))
        actions += [{"remove": {"path": p, "deletionTimestamp": now_ms, "dataChange": True}} for p in removed]
        actions += [{"add": file.to_action(now_ms)} for file in added]
        number = old.number + 1
        text = encode_commit(actions)
        try:
            write_file(commit_path(self._log, number), text, replace=False)
        except FileExistsError as error:
            raise PondError(
                f'version {number} of "{self.label}" was written by another program',
                detail="Nothing of this change was made.",
                hint=f'Move "{commit_path(self._log, number)}" away, and reopen the pond.',
            ) from error
        files = dict(old.files)
        for path in removed:
            files.pop(path, None)
        files.update((f.path, f) for f in added)
        self.current = Version(number, position, files, dict(state), stored, old.table_id)
        self._check = commit_check(text)
        self._note()
        return self.current

    def refresh(self) -> Version:
        """Take in commits made by another process; look again at a log that could not be read."""
        if self.damage is not None:
            self._try_to_load()
            return self.current
        try:
            if commit_path(self._log, self.current.number + 1).exists():
                self.current = self._apply_from(self.current)
            while self._checkpointed() > self.current.number:  # we fell behind, and the commits in between were dropped
                self.current = self._load()
        except PondError as damage:
            self._damaged(damage)
        return self.current

    def _try_to_load(self) -> None:
        try:
            with disk_errors(self.folder):
                self.current = self._load()
            self.damage = None
        except PondError as damage:
            self._damaged(damage)
        except OSError as error:
            self._damaged(
                CorruptBlock(
                    f'the archive log of "{self.label}" cannot be read',
                    detail=str(error),
                    hint="Restore the folder from a copy.",
                )
            )

    def _damaged(self, damage: PondError) -> None:
        self.damage, self.current = damage, _NOTHING

    def removals(self) -> dict[str, float]:
        """When files were removed, in seconds, as far as the commits that are kept tell."""
        found: dict[str, float] = {}
        for path in self._log.glob("*.json"):
            with contextlib.suppress(FileNotFoundError, ValueError):
                actions = [json.loads(line) for line in path.read_text().splitlines()]
                removed = [a["remove"] for a in actions if "remove" in a]
                found |= {r["path"]: r["deletionTimestamp"] / 1000 for r in removed}
        return found

    def _checkpointed(self) -> int:
        """The version of the last checkpoint, or -1."""
        try:
            return int(json.loads((self._log / "_last_checkpoint").read_text())["version"])
        except FileNotFoundError:
            return -1
        except (ValueError, KeyError, TypeError):  # it only saves looking for the newest
            return max((int(p.name.split(".")[0]) for p in self._log.glob("*.checkpoint.parquet")), default=-1)

    def checkpoint(self) -> None:
        """Every `CHECKPOINT_EVERY` commits: fold the log into one file, so that opening stays quick, and drop old commits."""
        number = self.current.number
        if number == 0 or number % CHECKPOINT_EVERY:
            return
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        reach("checkpoint.before_write")
        with disk_errors(self.folder):
            try:
                DeltaTable(str(self.folder)).create_checkpoint()
            except DeltaError as error:
                raise OSError(str(error)) from error
            # The commits it stands for are deleted below, so it must be on disk before.
            sync_file(self._log / f"{number:020d}.checkpoint.parquet")
            sync_file(self._log / "_last_checkpoint")
            sync_folder(self._log)
        reach("checkpoint.after_write")
        self._checkpoint = (number, zlib.crc32((self._log / f"{number:020d}.checkpoint.parquet").read_bytes()))
        self._note()
        for path in self._log.glob("*.json"):
            if path.stem.isdigit() and int(path.stem) < number - _KEPT_COMMITS:
                path.unlink()
                reach("checkpoint.after_delete")
        for path in self._log.glob("*.checkpoint.parquet"):
            if int(path.name.split(".")[0]) < number - CHECKPOINT_EVERY:
                path.unlink()

    # -- reading ----------------------------------------------------------------------------------------------------

    def _load(self) -> Version:
        if not self._log.is_dir():
            raise CorruptBlock(f'archive folder "{self.label}" has no log', hint="Restore it from a copy.")
        noted = self._anchor.read()  # before the log: what was noted by then must be there
        while True:
            checkpointed = self._checkpointed()
            try:
                base = self._read_checkpoint(checkpointed, noted) if checkpointed >= 0 else _NOTHING
                version = self._apply_from(base)
                break
            except FileNotFoundError as error:
                if self._checkpointed() == checkpointed:  # else the writer went on and dropped what we were reading
                    raise CorruptBlock(
                        f'the archive log of "{self.label}" has no version {checkpointed}',
                        detail=str(error),
                        hint="Restore the file from a copy.",
                    ) from error
            except (ValueError, KeyError, TypeError) as error:
                raise CorruptBlock(
                    f'checkpoint {checkpointed} of "{self.label}" cannot be read',
                    detail=str(error).splitlines()[0],
                    hint="Restore the file from a copy.",
                ) from error
        if version.number < 0:
            raise CorruptBlock(f'archive folder "{self.label}" has no first commit', hint="Restore it from a copy.")
        self._check_end(version, noted)
        return version

    def _check_end(self, version: Version, noted: Mapping[str, int] | None) -> None:
        """Whether the log goes as far as it once did, and nothing lies beyond its end."""
        numbers = [int(path.stem) for path in self._log.glob("*.json") if path.stem.isdigit()]
        newest = max([*numbers, -1 if noted is None else noted["version"]])
        if newest > version.number and not commit_path(self._log, version.number + 1).exists():
            missing = version.number + 1
            raise CorruptBlock(
                f'version {missing} of the archive log of "{self.label}" is missing',
                detail=f"It goes up to version {newest}. Changes of the table from version {missing} on cannot be read.",
                hint=f'Restore "{commit_path(self._log, missing)}" from a copy, or go on without these changes: delete '
                f'"{self._anchor.path.name}" and any later commit.',
            )
        if noted is not None and noted["version"] == version.number and noted["check"] != self._check:
            raise CorruptBlock(
                f'version {version.number} of the archive log of "{self.label}" is not the one that was committed',
                hint=f'Restore the folder from a copy, or delete "{self._anchor.path.name}" to go on with it as it is.',
            )

    def _apply_from(self, base: Version) -> Version:
        files = dict(base.files)
        position, state, schema, number = base.position, base.state, base.schema, base.number
        table_id = base.table_id
        if base.number >= 0 and not state:  # from a checkpoint: our state is in the commit of the same version
            position, state = self._read_state(base.number)
        while True:
            path = commit_path(self._log, number + 1)
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                return Version(number, position, files, state, schema, table_id)
            number += 1
            for action in decode_commit(text, path, self.label):
                if "add" in action:
                    file = ArchiveFile.from_action(action["add"])
                    files[file.path] = file
                elif "remove" in action:
                    files.pop(action["remove"]["path"], None)
                elif "metaData" in action:
                    schema = schema_from_delta(action["metaData"]["schemaString"])
                    table_id = action["metaData"]["id"]
                elif "commitInfo" in action:
                    own = action["commitInfo"]["millpond"]
                    position, state = own["position"], own["state"]
            self._check = commit_check(text)

    def _read_state(self, number: int) -> tuple[int, Mapping[str, Any]]:
        path = commit_path(self._log, number)
        text = path.read_bytes()
        own = decode_commit(text, path, self.label)[0]["commitInfo"]["millpond"]
        self._check = commit_check(text)
        return own["position"], own["state"]

    def _read_checkpoint(self, number: int, noted: Mapping[str, int] | None) -> Version:
        import pyarrow.parquet as pq

        path = self._log / f"{number:020d}.checkpoint.parquet"
        data = path.read_bytes()
        check = zlib.crc32(data)
        if noted is not None and noted["checkpoint"] == number and noted["checkpoint_check"] != check:
            raise ValueError("Its checksum does not match its contents.")
        self._checkpoint = (number, check)
        table = pq.read_table(pa.BufferReader(data), columns=["add", "metaData"])
        files = {}
        schema = Schema(())
        table_id = ""
        for row in table.to_pylist():
            if row["add"] is not None:
                file = ArchiveFile.from_action(row["add"])
                files[file.path] = file
            elif row["metaData"] is not None:
                schema = schema_from_delta(row["metaData"]["schemaString"])
                table_id = row["metaData"]["id"]
        return Version(number, 0, files, {}, schema, table_id)
