"""Results that have left memory: the archive of one query's results, in Parquet files known by number and by time.

Idea. It is a store without a tail: the newest results stand in memory and in the result log, and once they have become
many, or their log is to be deleted, the oldest of them become a file. Results are sent in the order of their numbers and
of their instants alike, so a file is a stretch of both: a subscriber finds its place by number, a query by time.

Invariants
 1. The files hold the results from `first` up to the version's position, each once: in order of number from file to
    file, and row i of a file has the number `first_seq` + i.
 2. Results below the position need not be in the log, nor in memory. The position moves only when they are in synced files.
 3. Files go from the oldest on, so what is kept never has a gap, but for results that were lost; within a file there is none.

The folder is made when the first results leave: a thousand queries whose results fit into memory have no folder.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from millpond.arrow import arrow_schema, conformed, integers
from millpond.catalog import INSTANT
from millpond.clock import Clock
from millpond.durable import delete_folder
from millpond.errors import CorruptBlock, PondError
from millpond.event_time import times_of
from millpond.failpoints import reach
from millpond.schema import SEQ, Schema, with_seq
from millpond.table.block import BlockSpec, write_blocks
from millpond.table.manifest import ANCHOR, ArchiveFile, Manifest, Version
from millpond.table.store import Snapshot, Store, empty_index
from millpond.table.work import CompactTask

SMALL_BYTES = 1 << 20  # files below this are merged with their neighbours
_FEW, _MANY = 8, 64  # files of a merge, at least and at most
_GROUPS_KEPT = 2  # row groups last read, for those who take a few rows at a time
_STATE = {"of": "results"}


@dataclass(frozen=True)
class _Order:
    """The files of a version by number."""

    version: int
    files: tuple[ArchiveFile, ...]
    last: npt.NDArray[np.int64]
    greatest: npt.NDArray[np.int64]


class ResultArchive:
    """Written by one thread of the pond's owner; read from any thread and, after `refresh`, from any process."""

    def __init__(self, folder: Path, columns: Schema, clock: Clock) -> None:
        self.folder = folder
        self.columns = columns  # those that the query has now; older files may lack some
        self._clock = clock
        self._store: Store | None = None
        self._lost: PondError | None = None
        self._gone = False
        self._ready: tuple[list[ArchiveFile], int] | None = None  # written, and the commit failed
        self._damaged: set[str] = set()  # files that could not be merged
        self._writing = threading.RLock()
        self._reading = threading.Lock()
        self._order: _Order | None = None
        self._groups: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()
        self.refresh()

    def refresh(self) -> None:
        """Take in what the owner of the pond did, and whether there is an archive at all."""
        if self._store is not None:
            with self._store.lock:
                self._store.manifest.refresh()
        elif (self.folder / ANCHOR).exists() or any((self.folder / "_delta_log").glob("*.json")):
            self._store = Store(Manifest(self.folder), self._spec(0))

    @property
    def damage(self) -> PondError | None:
        """Why it cannot be read, if so. It concerns this query; the others of the pond can be used."""
        return self._lost or (None if self._store is None else self._store.damage)

    def expect(self, position: int) -> None:
        """It once held results up to `position`: if it does not now, it is damaged."""
        missing = self.damage is None and self.position < position
        self._lost = None
        if missing:
            self._lost = CorruptBlock(
                f'kept results of "{self.folder.name}" are missing',
                detail=f"Results up to number {position - 1} were in files, and now up to number {self.position - 1}.",
                hint=f'Restore "{self.folder}" from a copy, or drop the query and create it again.',
            )

    def _spec(self, width: int) -> BlockSpec:
        return BlockSpec(str(self.folder), INSTANT, (), width)

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Results below it are here, or were and are no longer wanted."""
        return 0 if self._store is None else self._store.manifest.current.position

    @property
    def holds(self) -> bool:
        """Whether it holds any result."""
        return self._store is not None and bool(self._store.manifest.current.files)

    def snapshot(self) -> Snapshot:
        if self.damage is not None:
            raise self.damage
        if self._store is None:
            return Snapshot(self.folder, Version(0, 0, {}, {}, self.columns), (), empty_index())
        return self._store.snapshot()

    def first(self, version: Version) -> int | None:
        """The number of the oldest result in a version, if it has any."""
        files = self._by_number(version).files
        return files[0].first_seq if files else None

    def first_number(self, version: Version, since: int) -> int | None:
        """The number of the first result in a version whose instant is not before `since`."""
        order = self._by_number(version)
        at = int(np.searchsorted(order.greatest, since))
        if at == len(order.files):
            return None
        file = order.files[at]
        if file.least >= since:
            return file.first_seq
        with self._opened(file) as parquet:
            times = times_of(parquet.read(columns=[INSTANT]).column(0))
        return file.first_seq + int(np.searchsorted(times, since))

    def read(self, version: Version, after: int, most: int) -> Iterator[pa.Table]:
        """The results of a version numbered from `after` on, with their numbers, in order: at most `most` of them."""
        order = self._by_number(version)
        for file in order.files[int(np.searchsorted(order.last, after)) :]:
            row = max(0, after - file.first_seq)
            while row < file.rows:
                if most <= 0:
                    return
                begin, rows = self._group_at(file, row)
                part = rows.slice(row - begin, most)
                yield part
                row += part.num_rows
                most -= part.num_rows

    def _by_number(self, version: Version) -> _Order:
        found = self._order
        if found is None or found.version != version.number or len(found.files) != len(version.files):
            files = tuple(sorted(version.files.values(), key=lambda f: f.first_seq))
            found = self._order = _Order(
                version.number,
                files,
                np.array([f.last_seq for f in files], dtype=np.int64),
                np.array([f.greatest for f in files], dtype=np.int64),
            )
        return found

    def _group_at(self, file: ArchiveFile, row: int) -> tuple[int, pa.Table]:
        """The row group that holds the row `row` of a file, and the row it begins with."""
        with self._reading:
            for (path, begin), rows in self._groups.items():
                if path == file.path and begin <= row < begin + rows.num_rows:
                    self._groups.move_to_end((path, begin))
                    return begin, rows
        with self._opened(file) as parquet:
            begin = number = 0
            while row >= begin + parquet.metadata.row_group(number).num_rows:
                begin += parquet.metadata.row_group(number).num_rows
                number += 1
            schema = arrow_schema(with_seq(self.columns))
            rows = conformed(parquet.read_row_group(number), schema).cast(schema)
        with self._reading:
            self._groups[file.path, begin] = rows
            while len(self._groups) > _GROUPS_KEPT:
                self._groups.popitem(last=False)
        return begin, rows

    def _opened(self, file: ArchiveFile) -> _Opened:
        return _Opened(self.folder / file.path)

    # -- writing: by one thread of the owner --------------------------------------------------------------------------

    def write(self, rows: pa.Table, width: int) -> bool:
        """Make the results behind those it holds, with their numbers and in order, part of the archive: `position` moves
        behind them. `width` is that of a compartment. Returns whether the query is still there."""
        numbers = integers(rows[SEQ])
        with self._writing:
            if self._gone:
                return False
            if self.damage is not None:
                raise self.damage
            if self._store is None:
                manifest = Manifest.create(self.folder, self.columns, _STATE, self._clock.micros() // 1000)
                self._store = Store(manifest, self._spec(width))
            self._store.spec = self._spec(width)
            if self._ready is not None and self._ready[1] < int(numbers[0]):
                self._ready = None  # results behind it were let go meanwhile
            if self._ready is None:
                files = write_blocks(self._store.spec, rows, 0, uuid.uuid4().hex[:12])
                self._ready = (files, int(numbers[-1]) + 1)
            files, position = self._ready  # after a failure: those written then, rather than once more
            reach("results.before_commit")
            self._commit(files, [], position)
            self._ready = None
            reach("results.after_commit")
            return True

    def _commit(self, add: Sequence[ArchiveFile], remove: Sequence[str], position: int | None) -> None:
        assert self._store is not None
        self._store.commit(add=add, remove=remove, position=position, state=_STATE,
                           operation="OPTIMIZE" if remove else "WRITE", schema=self._changed_columns(),
                           now_ms=self._clock.micros() // 1000, age=self._clock.monotonic())  # fmt: skip

    def _changed_columns(self) -> Schema | None:
        """The columns that the query has now, if the log has others."""
        assert self._store is not None
        return self.columns if self._store.manifest.current.schema != with_seq(self.columns) else None

    def is_stale(self, before: int | None) -> bool:
        """Whether `tidy` has something to do."""
        if self._store is None or self.damage is not None:
            return False
        order = self._by_number(self._store.manifest.current)
        return self._store.removed or (before is not None and len(order.files) > 0 and order.greatest[0] < before)

    @property
    def in_use(self) -> bool:
        """Whether there is, or was, anything in it."""
        return self._store is not None

    def tidy(self, before: int | None) -> None:
        """Let go of files whose results are all from before that time, merge small ones, delete those let go long ago."""
        with self._writing:
            if self._gone or self._store is None or self.damage is not None:
                return
            if before is not None:
                old = [f.path for f in self._store.manifest.current.files.values() if f.greatest < before]
                if old:
                    reach("results.before_expiry")
                    self._commit([], old, None)
            self._merge()
            self._store.manifest.checkpoint()
            self._store.delete_removed(self._clock.monotonic())
            with self._reading:
                live = self._store.manifest.current.files
                for key in [k for k in self._groups if k[0] not in live]:
                    del self._groups[key]

    def _merge(self) -> None:
        assert self._store is not None
        columns = tuple((c.name, str(c.type)) for c in with_seq(self.columns))
        for run in small_runs(self._by_number(self._store.manifest.current).files, self._damaged):
            paths = tuple(f.path for f in run)
            files = CompactTask("", 0, 0, self._store.spec, columns, paths).run(uuid.uuid4().hex[:12])
            if files:
                self._commit(files, paths, None)
            else:
                self._damaged |= set(paths)

    def delete_strays(self) -> None:
        """Delete what a crash left. Called before anything is written."""
        if self._store is not None and self.damage is None:
            self._store.delete_strays(self._clock.micros() / 1e6)

    def delete(self, pond: Path) -> None:
        """The query is dropped: end with its files. Waits for a write under way; later ones do nothing."""
        with self._writing:
            self._gone = True
            delete_folder(self.folder, pond)


def small_runs(files: Sequence[ArchiveFile], without: set[str]) -> list[list[ArchiveFile]]:
    """Runs of small files worth merging: neighbours by number, of one compartment."""
    runs: list[list[ArchiveFile]] = [[]]
    for file in files:
        if file.size >= SMALL_BYTES or file.path in without:
            runs.append([])
            continue
        if runs[-1]:
            last = runs[-1][-1]
            apart = last.compartment != file.compartment or last.last_seq + 1 != file.first_seq
            if apart or len(runs[-1]) == _MANY:
                runs.append([])
        runs[-1].append(file)
    return [run for run in runs if len(run) >= _FEW]


class _Opened:
    """A file of the archive, opened; damage is reported as such."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parquet: pq.ParquetFile | None = None

    def __enter__(self) -> pq.ParquetFile:
        try:
            self._parquet = pq.ParquetFile(self._path, page_checksum_verification=True)
        except (OSError, pa.ArrowInvalid) as error:
            raise self._damaged(error) from error
        return self._parquet

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self._parquet is not None:
            self._parquet.close()
        if isinstance(error, (OSError, pa.ArrowInvalid)) and not isinstance(error, PondError):
            raise self._damaged(error) from error

    def _damaged(self, error: BaseException) -> CorruptBlock:
        return CorruptBlock(
            f'file "{self._path.name}" of kept results of "{self._path.parent.parent.name}" cannot be read',
            detail=str(error).splitlines()[0],
            hint="Restore the file from a copy.",
        )
