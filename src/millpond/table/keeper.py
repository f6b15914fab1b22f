"""The keeper: decides what archive work is due, and commits what came out. The owner of a pond has one.

A round is plan -> run the tasks (in Spark, or in place) -> commit, one round at a time. In the plan, per table: the
oldest frames of the log that make a block, and runs of small files worth merging. The commit adds files, removes merged
and expired ones and moves the position, for rejected rows first and then for rows: each store has its own seam, so a
crash between the two commits is as harmless as anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from millpond.catalog import REJECTED_COLUMNS
from millpond.clock import Clock
from millpond.failpoints import reach
from millpond.schema import with_seq
from millpond.table.log import REJECTED, ROWS, Section
from millpond.table.manifest import ArchiveFile
from millpond.table.store import GRACE, Store
from millpond.table.stream import StreamTable
from millpond.table.work import (
    ArchiveTask,
    CompactTask,
    CopyTask,
    Task,
    choose_files,
    choose_frames,
    misplaced,
    without_copies,
)

_CONVERTED = 2  # blocks of rows that are written anew in one round after the table's design was changed


@dataclass(frozen=True)
class Round:
    """Tasks of one round; `ends` are the positions after it, by the table's folder and kind.

    A folder is never used twice, unlike a name: a table may be dropped, renamed or made anew while the tasks run.
    """

    tasks: tuple[Task, ...]
    ends: dict[tuple[str, int], int] = field(default_factory=dict)


class Keeper:
    """Not thread safe: the caller runs one round at a time."""

    def __init__(self, clock: Clock, block_rows: int, block_age_micros: int) -> None:
        self._clock = clock
        self._block_rows = block_rows
        self._block_age = block_age_micros
        self._damaged: set[tuple[str, str]] = set()  # files that could not be merged with others

    def plan(self, tables: Sequence[StreamTable], *, force: bool = False) -> Round:
        """What is due now. With `force` all that is in the log, however little."""
        tasks: list[Task] = []
        ends: dict[tuple[str, int], int] = {}
        for table in _sound(tables):
            tasks += self._archive(table, ends, force)
            for kind, store in ((ROWS, table.rows), (REJECTED, table.rejected)):
                tasks += self._compact(table, kind, store)
        return Round(tuple(tasks), ends)

    def _archive(self, table: StreamTable, ends: dict[tuple[str, int], int], force: bool) -> list[Task]:
        with table.lock:
            frames = [f for f in table.frames if table.consumed is None or f.end <= table.consumed]
        oldest = self._clock.micros() - self._block_age
        chosen = choose_frames(frames, self._block_rows, oldest, force=force)
        if not chosen:
            return []
        folder = table.definition.folder
        ends[folder, ROWS] = chosen[-1].end
        ends[folder, REJECTED] = chosen[-1].end_rejected
        sections: dict[tuple[int, int], list[tuple[str, Section]]] = {}
        for frame in chosen:
            for section in frame.sections:
                sections.setdefault((section.kind, section.shard), []).append((str(frame.path), section))
        tasks: list[Task] = []
        for (kind, shard), found in sorted(sections.items()):
            store = table.rejected if kind == REJECTED else table.rows
            tasks.append(
                ArchiveTask(folder, kind, shard, store.spec, _columns(table, kind), tuple(found), store.tail.start)
            )
        return tasks

    def _compact(self, table: StreamTable, kind: int, store: Store) -> list[Task]:
        """Small files to merge, and files that are not laid out as the table now says."""
        folder = table.definition.folder
        files = [f for f in store.manifest.current.files.values() if (folder, f.path) not in self._damaged]
        runs = choose_files(files, self._block_rows)
        taken = {f.path for run in runs for f in run}
        left = [f for f in files if f.path not in taken]
        moved = misplaced(left, store.spec, _CONVERTED * self._block_rows)
        taken |= {f.path for unit in moved for f in unit}
        bare = without_copies(
            [f for f in left if f.path not in taken], store.spec, 0 if store.spec.randomise else self._block_rows
        )
        tasks: list[Task] = [
            CompactTask(folder, kind, run[0].shard, store.spec, _columns(table, kind), tuple(f.path for f in run))
            for run in [*runs, *moved]
        ]
        return [*tasks, *(CopyTask(folder, kind, file.shard, store.spec, file) for file in bare)]

    def commit(self, work: Round, results: Sequence[Sequence[ArchiveFile]], tables: Iterable[StreamTable]) -> None:
        """Make the results of a round part of the tables that there are now. Files of a dropped one went with its folder."""
        add: dict[tuple[str, int], list[ArchiveFile]] = {}
        remove: dict[tuple[str, int], list[str]] = {}
        for task, files in zip(work.tasks, results, strict=True):
            if isinstance(task, CompactTask) and not files:
                self._damaged |= {(task.table, path) for path in task.files}
                continue
            if isinstance(task, CopyTask) and not files:
                self._damaged.add((task.table, task.file.path))
                continue
            add.setdefault((task.table, task.kind), []).extend(files)
            if isinstance(task, CompactTask):
                remove.setdefault((task.table, task.kind), []).extend(task.files)
        reach("archive.before_commits")
        for table in tables:
            if table.damage is not None:
                continue
            for kind, store in ((REJECTED, table.rejected), (ROWS, table.rows)):
                key = (table.definition.folder, kind)
                if key in add or key in remove or key in work.ends:
                    self._commit_store(table, store, add.get(key, []), remove.get(key, []), work.ends.get(key))
                if kind == REJECTED:
                    reach("archive.between_commits")
            table.archived()

    def _commit_store(
        self, table: StreamTable, store: Store, add: list[ArchiveFile], remove: list[str], position: int | None
    ) -> None:
        if position is not None and position <= store.tail.start:
            if not add and not remove:
                return
            position = None  # a crash fell between the commits of rejected rows and rows: this store is ahead
        if remove:
            reach("compaction.before_commit" if add else "retention.before_commit")
        with table.lock:
            state = table.state.to_json()
        there = store.manifest.current.files  # an index may have been made while copies of a file were written
        add = [replace(there[f.path], copies=f.copies) if f.path in there else f for f in add]
        store.commit(
            add=add,
            remove=remove,
            position=position,
            state=state,
            operation="WRITE" if not remove else "OPTIMIZE",
            now_ms=self._clock.micros() // 1000,
            age=self._clock.monotonic(),
        )
        if remove:
            reach("compaction.after_commit" if add else "retention.after_commit")
        store.manifest.checkpoint()

    def expire(self, tables: Sequence[StreamTable], read_from: Callable[[str], int | None]) -> int:
        """Drop the compartments that lie before the history period. Returns how many files went.

        `read_from` tells the time from which on a table has yet to be read by continuous queries.
        """
        count = 0
        for table in _sound(tables):
            gone = table.expired_files(read_from)
            if gone:
                self._commit_store(table, table.rows, [], gone, None)
                count += len(gone)
        return count

    def clean(self, tables: Sequence[StreamTable], *, grace: float = GRACE) -> None:
        """Delete files that were removed long enough ago."""
        for table in _sound(tables):
            for store in (table.rows, table.rejected):
                store.delete_removed(self._clock.monotonic(), grace=grace)


def _sound(tables: Sequence[StreamTable]) -> list[StreamTable]:
    return [table for table in tables if table.damage is None]


def _columns(table: StreamTable, kind: int) -> tuple[tuple[str, str], ...]:
    schema = with_seq(REJECTED_COLUMNS) if kind == REJECTED else table.stored
    return tuple((c.name, str(c.type)) for c in schema)
