"""A store: one relation in two tiers, tail and archive, read as one.

Idea. `snapshot` takes the archive version and the tail blocks behind its position under one lock. Whatever happens
afterwards (appends, archiving, compaction, retention) a snapshot stays readable and complete: versions and blocks are
values, and removed files stay on disk for `GRACE` seconds.

Invariant. A snapshot's files hold the rows below its position, its blocks the rows from there on: no gap, no duplicate.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import conform
from millpond.errors import PondError
from millpond.failpoints import reach
from millpond.schema import Schema
from millpond.table.block import BlockSpec
from millpond.table.index import find_groups, index_path
from millpond.table.manifest import ArchiveFile, Manifest, Version
from millpond.table.tail import Tail, TailBlock

GRACE = 300.0  # seconds a removed file outlives its removal, for readers that still hold an older version


@dataclass(frozen=True)
class Bounds:
    """What a query says about the rows it wants; everything is a reason to skip, nothing a promise to filter.

    `low`/`high` bound the event time, inclusive. `among` maps a column to the only values wanted; `between` to an
    inclusive (low, high), either end None.
    """

    low: int | None = None
    high: int | None = None
    among: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    between: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    newest: int | None = None  # only the k newest rows are wanted


@dataclass(frozen=True)
class Selection:
    """What must be read: the files, for some of them only certain row groups, and the tail blocks."""

    files: tuple[ArchiveFile, ...]
    groups: Mapping[str, frozenset[int]]
    blocks: tuple[TailBlock, ...]
    total_files: int
    total_rows: int
    helped: tuple[str, ...]  # indices that skipped something

    @property
    def file_rows(self) -> int:
        return sum(f.rows for f in self.files)

    @property
    def tail_rows(self) -> int:
        return sum(b.rows for b in self.blocks)


class _TimeIndex:
    """The interval index of an archive version: file bounds as arrays, found by comparison without touching files."""

    def __init__(self, version: Version) -> None:
        self.files = sorted(version.files.values(), key=lambda f: (f.least, f.path))
        self.least = np.array([f.least for f in self.files], dtype=np.int64)
        self.greatest = np.array([f.greatest for f in self.files], dtype=np.int64)
        self.rows = np.array([f.rows for f in self.files], dtype=np.int64)

    def overlapping(self, low: int | None, high: int | None) -> list[ArchiveFile]:
        chosen: npt.NDArray[np.bool_] = np.ones(len(self.files), dtype=bool)
        if low is not None:
            chosen &= self.greatest >= low
        if high is not None:
            chosen &= self.least <= high
        return [self.files[i] for i in np.flatnonzero(chosen)]


def empty_index() -> _TimeIndex:
    """The interval index of a relation without files."""
    return _TimeIndex(Version(0, 0, {}, {}, Schema(())))


@dataclass(frozen=True)
class Snapshot:
    """A store at one moment. Rows from before `since` are kept, and are no longer part of the relation."""

    folder: Path
    version: Version
    blocks: tuple[TailBlock, ...]
    index: _TimeIndex
    since: int | None = None

    @property
    def rows(self) -> int:
        return self.version.rows + sum(b.rows for b in self.blocks)

    @property
    def has_all(self) -> bool:
        """Whether no row of the table was ever deleted."""
        return self.version.rows == self.version.position

    def with_files(self, wanted: Callable[[ArchiveFile], bool]) -> Snapshot:
        """The same with some of the files only."""
        files = {path: file for path, file in self.version.files.items() if wanted(file)}
        if len(files) == len(self.version.files):
            return self
        version = replace(self.version, files=files)
        return replace(self, version=version, index=_TimeIndex(version))

    def select(self, bounds: Bounds, *, use_indexes: bool = True) -> Selection:
        """What must be read for `bounds`."""
        low, high = bounds.low, bounds.high
        if bounds.newest is not None:
            low = _later(low, self._newest_from(bounds.newest))
        blocks = tuple(
            b for b in self.blocks if (low is None or b.greatest >= low) and (high is None or b.least <= high)
        )
        candidates = self.index.overlapping(low, high)
        helped = ["time"] if len(candidates) < len(self.index.files) else []
        files: list[ArchiveFile] = []
        groups: dict[str, frozenset[int]] = {}
        for file in candidates:
            if not _may_hold(file, bounds):
                helped.append("bounds")
                continue
            if use_indexes:
                found = self._look_up(file, bounds, helped)
                if found is not None:
                    if not found:
                        continue
                    groups[file.path] = found
            files.append(file)
        return Selection(tuple(files), groups, blocks, len(self.index.files), self.rows, tuple(dict.fromkeys(helped)))

    def _look_up(self, file: ArchiveFile, bounds: Bounds, helped: list[str]) -> frozenset[int] | None:
        """Row groups to read according to the value indices, or None if none applies."""
        found: frozenset[int] | None = None
        for column, values in bounds.among.items():
            if column not in file.indexed or len(values) > 1000:
                continue
            try:
                hits = frozenset(find_groups(index_path(self.folder / file.path, column), values))
            except (OSError, pa.ArrowInvalid):  # an index only helps to skip: without it nothing is skipped
                continue
            found = hits if found is None else found & hits
            helped.append(column)
        return found

    def _newest_from(self, count: int) -> int | None:
        """A time so late that at least `count` rows are not older, so that anything older can be skipped."""
        spans: list[tuple[int, int]] = [(b.least, b.rows) for b in self.blocks] + list(
            zip(self.index.least.tolist(), self.index.rows.tolist(), strict=True)
        )
        seen = 0
        for least, rows in sorted(spans, reverse=True):
            seen += rows
            if seen >= count:
                return least
        return None


def _later(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _may_hold(file: ArchiveFile, bounds: Bounds) -> bool:
    for column, values in bounds.among.items():
        if column in file.minima and not any(_inside(v, file.minima[column], file.maxima[column]) for v in values):
            return False
    for column, (low, high) in bounds.between.items():
        if column not in file.minima:
            continue
        if low is not None and _less(file.maxima[column], low):
            return False
        if high is not None and _less(high, file.minima[column]):
            return False
    return True


def _inside(value: Any, low: Any, high: Any) -> bool:
    return not _less(value, low) and not _less(high, value)


def _less(a: Any, b: Any) -> bool:
    if isinstance(a, str) != isinstance(b, str):
        return False  # different kinds: cannot be compared here, so cannot be skipped
    return bool(a < b)


class Store:
    """Tail and archive of one relation. The writing process changes it; readers call `refresh` and `snapshot`."""

    def __init__(self, manifest: Manifest, spec: BlockSpec) -> None:
        self.manifest = manifest
        self.spec = spec
        self.folder = manifest.folder
        self.lock = threading.RLock()
        self.tail = Tail(manifest.current.position)
        self._index: tuple[int, _TimeIndex] | None = None
        self._removed: list[tuple[float, str]] = []
        self.tail_damage: PondError | None = None  # why the tail is not known

    @property
    def damage(self) -> PondError | None:
        """Why it cannot be read, if so."""
        return self.manifest.damage or self.tail_damage

    def check(self) -> None:
        """Raise if it cannot be read."""
        if self.damage is not None:
            raise self.damage

    def snapshot(self) -> Snapshot:
        with self.lock:
            self.check()
            version = self.manifest.current
            if self._index is None or self._index[0] != version.number:
                self._index = (version.number, _TimeIndex(version))
            return Snapshot(self.folder, version, self.tail.blocks, self._index[1])

    def accept(self, batches: Iterable[pa.RecordBatch], least: int, greatest: int, last_seq: int) -> None:
        """Rows that are durable in the log become visible."""
        with self.lock:
            self.tail.append(batches, least, greatest, last_seq)

    def commit(
        self,
        *,
        add: Sequence[ArchiveFile] = (),
        remove: Sequence[str] = (),
        position: int | None = None,
        state: Mapping[str, Any] | None = None,
        schema: Schema | None = None,
        operation: str,
        now_ms: int,
        age: float,
    ) -> None:
        """A new archive version, and in the same instant the tail behind its position."""
        with self.lock:
            before = self.manifest.current.files
            replaced = {c.path for file in add if file.path in before for c in before[file.path].copies}
            self.manifest.commit(add=add, remove=remove, position=position, state=state, schema=schema,
                                 operation=operation, now_ms=now_ms)  # fmt: skip
            if position is not None:
                self.tail.cut(position)
            replaced -= {copy.path for file in add for copy in file.copies}
            self._removed += [(age, path) for path in [*remove, *sorted(replaced)]]

    @property
    def removed(self) -> bool:
        """Whether removed files wait to be deleted."""
        return bool(self._removed)

    def delete_removed(self, age: float, *, grace: float = GRACE) -> int:
        """Delete files removed more than `grace` seconds ago. Returns how many."""
        with self.lock:
            due = [path for when, path in self._removed if age - when >= grace]
            self._removed = [(when, path) for when, path in self._removed if age - when < grace]
        for path in due:
            self._delete(self.folder / path)
            reach("removal.after_delete")
        return len(due)

    def delete_strays(self, wall_seconds: float, *, grace: float = GRACE) -> int:
        """Delete files no version names: left by a crash. Only old ones, for readers of earlier versions."""
        if self.damage is not None:  # nobody knows which files are named
            return 0
        live = set(self.manifest.current.files)
        live |= {copy.path for file in self.manifest.current.files.values() for copy in file.copies}
        live |= {path for _, path in self._removed}
        removed = self.manifest.removals()
        count = 0
        for path in self.folder.glob("c*/*"):
            name = f"{path.parent.name}/{path.name}"
            if path.suffix == ".idx":
                name = f"{path.parent.name}/{path.name.split('.')[0]}.parquet"
            with contextlib.suppress(FileNotFoundError):
                since = removed.get(name, path.stat().st_mtime)
                if name not in live and wall_seconds - since >= grace:
                    path.unlink()
                    count += 1
        return count

    def _delete(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        for pattern in (f"{path.stem}.*.idx", f"{path.stem}.*.copy"):
            for beside in path.parent.glob(pattern):
                beside.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()  # only when empty: the compartment is gone


def tail_table(blocks: Iterable[TailBlock], schema: pa.Schema) -> pa.Table:
    """Tail blocks as one Arrow table of `schema`; a column they lack is NULL (it was added later)."""
    batches = [conform(batch, schema) for block in blocks for batch in block.batches]
    return pa.Table.from_batches(batches, schema=schema)
