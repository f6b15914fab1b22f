"""What the owner of a pond keeps of a streaming table for its standing queries, up to one row number.

Recent rows are shared by all queries; an entry, one for each different predicate, knows which of them match. Ticks move
`position` on: rows are matched with all entries at once. Between ticks nothing is missed, because whoever asks also looks
through the rows after `position`, which are in the table's tail (`select`).

Invariant. `state` is a value: rows, matches and entries of one position. It is replaced as a whole, under `lock`, so whoever
takes it sees what is true up to exactly that position. All matches of an entry later than its `covered` are kept.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import arrow_schema, integers
from millpond.event_time import NEVER, event_times
from millpond.predicate.form import Always, Predicate
from millpond.predicate.vector import Columns
from millpond.schema import SEQ
from millpond.standing.aggregates import Aggregated
from millpond.standing.entry_files import EntryFiles
from millpond.standing.index.matches import Matches as BatchMatches
from millpond.standing.index.predicates import PredicateIndex
from millpond.standing.kept.matches import MatchRuns
from millpond.standing.kept.newest import Cut, nth_newest
from millpond.standing.kept.rows import Complete, RecentRows
from millpond.standing.kept.tree import AggregateTree
from millpond.standing.prefixes import unseen
from millpond.standing.state import Entry, Ints, State, TreeKey
from millpond.standing.work import Batch, Matched, MatchTask
from millpond.table.sections import sections_of
from millpond.table.stream import Prefix, StreamTable
from millpond.windows.base import Window

_UNSELECTIVE = 0.5  # an entry that matches more of the rows than this is not kept
_NO_ROWS: Ints = np.zeros(0, dtype=np.int64)
_FEW_ROWS = 20_000  # are matched in the owner's process: sending them out takes longer
_LITTLE_WORK = 2_000_000  # rows times entries, likewise
_JUDGED = 1000  # rows by which that is judged


@dataclass
class _Grown:
    """A tree that ticks let grow."""

    tree: AggregateTree
    covered: Complete
    users: int = 0


@dataclass(frozen=True)
class MatchPlan:
    """Rows that workers are to match with the entries numbered below `entries`."""

    table: KeptTable
    prefix: Prefix
    tasks: tuple[MatchTask, ...]
    entries: int


class KeptTable:
    """Changed by whoever holds `lock`; `state` may be read without it."""

    def __init__(self, table: StreamTable, files: EntryFiles) -> None:
        self._files = files
        self.lock = threading.RLock()
        self.alive = True
        """False when it is no longer true, or nobody needs it: then another is made."""
        self._table = table.definition
        self.columns = table.definition.columns
        self._time_column = table.definition.time_column
        prefix = table.prefix()
        self._schema = arrow_schema(table.stored)
        start = prefix.snapshot.version.position
        archived = [file.greatest for file in prefix.snapshot.version.files.values()]
        self._rows = RecentRows(self._schema, Complete(start, max(archived, default=NEVER)))
        self._matches = MatchRuns()
        self.index = PredicateIndex(self.columns)
        self._entries: dict[int, Entry] = {}
        self._by_predicate: dict[Predicate, int] = {}
        self._users: dict[int, int] = {}  # how many queries have an entry
        self._windows: dict[int, tuple[int, Window]] = {}  # by query: its entry and its window
        self._window_bytes = 0  # of the matches in them
        self._trees: dict[TreeKey, _Grown] = {}
        self._reach: Counter[Window | None] = Counter()  # how many queries have each window
        self._changed: set[int] = set()  # entries that came, went or changed since the state was published
        self._broad: dict[int, int] = {}  # entries with too many old rows from before these times to be kept
        self._planned = False  # a plan is under way
        self._dropped: set[int] = set()  # entries that it may still match
        self._next = 0
        self._thinned = 0  # of the rows numbered under it only those that an entry needs are held
        self.state = State(start, self._rows.snapshot, self._matches.snapshot)
        self.take_in(prefix)

    def close(self) -> None:
        """It is no longer true, or nobody needs it."""
        self.alive = False
        with self.lock:
            self._files.close()

    # -- entries ----------------------------------------------------------------------------------------------------

    def add(self, predicates: Iterable[Predicate], window: Window | None, *, always: bool) -> list[int]:
        """Take up predicates of queries with one window; returns their entries. A new one meets the rows that are there.
        `always`: its matches are kept however many they are."""
        with self.lock:
            found, new = [], []
            for predicate in predicates:
                number = self._by_predicate.get(predicate)
                if number is None or (always and not self._entries[number].kept and predicate != Always()):
                    number = self._new(predicate)
                    new.append(number)
                self._users[number] = self._users.get(number, 0) + 1
                self._reach[window] += 1
                found.append(number)
            self._meet_rows(new, always=always)
            self._publish()
            return found

    @property
    def _complete(self) -> Complete:
        return self._rows.snapshot.complete_from

    def _new(self, predicate: Predicate) -> int:
        number, self._next = self._next, self._next + 1
        kept = not isinstance(predicate, Always)
        self._changed.add(number)
        self._entries[number] = Entry(number, predicate, kept, self._complete, self.state.floor)
        self._by_predicate[predicate] = number
        return number

    def _meet_rows(self, new: list[int], *, always: bool) -> None:
        """New entries meet old rows."""
        kept = [self._entries[number] for number in new if self._entries[number].kept]
        if not kept:
            return
        rows = self._rows.snapshot.complete()
        total = rows.size
        if len(kept) == 1 or not total:
            wanted = []
            for entry in kept:
                seqs = rows.filter(entry.test) if total else np.zeros(0, dtype=np.int64)
                if not always and total >= _JUDGED and len(seqs) > _UNSELECTIVE * total:
                    self._entries[entry.number] = replace(entry, kept=False)
                    continue
                if len(seqs):
                    self._matches.add(entry.number, seqs)
                wanted.append(entry)
            self._enter(wanted)
            return
        fresh = self._index_of((e.number, e.predicate) for e in kept)  # many at once meet the rows as rows meet queries
        for chunk in rows.chunks:
            found = fresh.match(Columns(Batch(pa.Table.from_batches([chunk.rows]))))
            self._note_matches(chunk.seqs, found)
        self._enter(kept)

    def _index_of(self, entries: Iterable[tuple[int, Predicate]]) -> PredicateIndex:
        made = PredicateIndex(self.columns)
        made.add(entries)
        return made

    def _enter(self, entries: Sequence[Entry]) -> None:
        """From now on rows meet these entries."""
        listed = [(entry.number, entry.predicate) for entry in entries]
        self.index.add(listed)
        self._files.note(came=listed)

    def remove(self, numbers: Iterable[int], window: Window | None) -> None:
        """Queries with these entries and this window are gone."""
        with self.lock:
            gone = []
            for number in numbers:
                self._reach[window] -= 1
                self._users[number] -= 1
                if not self._users[number]:
                    gone.append(number)
                    del self._users[number]
                    entry = self._entries.pop(number)
                    self._changed.add(number)
                    if self._by_predicate.get(entry.predicate) == number:
                        del self._by_predicate[entry.predicate]
            indexed = [number for number in gone if number in self.index]
            self.index.remove(indexed)
            self._files.note(went=indexed)
            self._matches.remove(gone)
            if self._planned:
                self._dropped.update(gone)
            self._thinned = 0 if gone else self._thinned
            for number in gone:
                self._broad.pop(number, None)
            self._publish()

    def keep_windows(self, queries: Mapping[int, int], window: Window | None) -> None:
        """Apply the window of some queries, given with their entries, at each tick: then fewer matches are looked through when
        one is asked."""
        with self.lock:
            wanted = {query: entry for query, entry in queries.items() if self._entries[entry].kept}
            if window is None or not wanted:
                return
            self._windows.update({query: (entry, window) for query, entry in wanted.items()})
            matches = self._matches.snapshot
            found = {query: matches.of(entry) for query, entry in wanted.items()}
            self._keep({**self.state.windows, **found})

    def drop_window(self, query: int) -> None:
        with self.lock:
            if self._windows.pop(query, None) is not None:  # what is in it goes with the next tick
                self._window_bytes -= self.state.windows.get(query, _NO_ROWS).nbytes

    def _keep(self, windows: Mapping[int, Ints]) -> None:
        self._window_bytes = _bytes_of(windows)
        self.state = replace(self.state, windows=windows)

    def add_tree(self, entry: int, asked: Aggregated) -> None:
        """Keep aggregates of an entry's rows, ranked by time."""
        with self.lock:
            key = entry, asked
            if key not in self._trees:
                self._trees[key] = self._grown(self._entries[entry], asked)
            self._trees[key].users += 1
            self._publish()

    def drop_tree(self, entry: int, asked: Aggregated) -> None:
        with self.lock:
            self._trees[entry, asked].users -= 1
            if not self._trees[entry, asked].users:
                del self._trees[entry, asked]

    def _grown(self, entry: Entry, asked: Aggregated) -> _Grown:
        """The tree over the rows that are kept."""
        tree = AggregateTree(self._schema, asked.measures, asked.keys)
        rows = self._rows.snapshot
        seqs = self._matches.snapshot.of(entry.number) if entry.kept else rows.filter(entry.test)
        if len(seqs):
            tree.append(rows.take(seqs), rows.times_of(seqs), seqs)
        return _Grown(tree, entry.covered_in(replace(self.state, rows=rows)))

    def _grow(self, rows: pa.Table, times: Ints, places_of: Callable[[Entry], npt.NDArray[Any]]) -> None:
        """New rows go into the trees of the entries that they match."""
        seqs = integers(rows.column(SEQ)) if self._trees else _NO_ROWS
        for (number, _), grown in self._trees.items():
            places = places_of(self._entries[number])
            if len(places):
                grown.tree.append(rows.take(pa.array(places)), times[places], seqs[places])

    def may_cover(self, entry: int, low: int | None) -> bool:
        """Whether it is worth looking for the old matches of an entry from the time `low` on, so that they can be kept."""
        with self.lock:
            known, broad = self._entries.get(entry), self._broad.get(entry)
            return known is not None and known.kept and (broad is None or (low is not None and low > broad))

    def not_covered(self, entry: int, low: int | None) -> None:
        """There are too many old matches from the time `low` on. Half of that time away there may be fewer."""
        with self.lock:
            if (known := self._entries.get(entry)) is not None:
                after = known.covered_in(self.state).after
                self._broad[entry] = after if low is None else (low + after) // 2

    def cover(self, entry: int, rows: pa.Table, low: int | None) -> None:
        """All matches of an entry from the time `low` on, up to a position that is not before its beginning, were found in the
        archive: keep them."""
        with self.lock:
            known = self._entries.get(entry)
            if known is None or not known.kept:
                return
            rows = rows.filter(pc.less(rows.column(SEQ), self.state.position))  # later ones are still to be taken in
            self._rows.insert(rows, event_times(rows, self._time_column))
            self._matches.add(entry, integers(rows.column(SEQ)))
            after = NEVER if low is None else min(known.covered_in(self.state).after, low - 1)
            seq = known.covered_in(self.state).seq
            self._changed.add(entry)
            self._entries[entry] = replace(known, covered=Complete(seq, after), floor=self.state.floor)
            for key, grown in self._trees.items():
                if key[0] == entry:
                    self._trees[key] = replace(self._grown(self._entries[entry], key[1]), users=grown.users)
            # Windows that hold matches of this entry are made anew by the next tick.
            self._keep({q: s for q, s in self.state.windows.items() if self._windows.get(q, (entry,))[0] != entry})
            self._publish()

    @property
    def used(self) -> bool:
        return bool(self._users)

    # -- rows -------------------------------------------------------------------------------------------------------

    def take_in(self, prefix: Prefix) -> bool:
        """Rows of a prefix meet the entries, in this process. False if some are no longer in the tail."""
        with self.lock:
            rows = unseen(prefix, self.state.position, self._schema)
            if rows is None:
                return False
            if rows.num_rows:
                columns, times = Columns(Batch(rows)), event_times(rows, self._time_column)
                found = self.index.match(columns)
                self._note_matches(integers(rows.column(SEQ)), found)
                self._rows.append(rows, times)
                self._grow(rows, times, lambda e: found.of(e.number) if e.kept else np.flatnonzero(e.test(columns)))
            self._rows.move_on(prefix.position)
            self._publish(prefix.position, prefix.now)
            return True

    def plan(self, table: StreamTable) -> MatchPlan | None:
        """What workers have to do so that the rows accepted so far meet the entries; None if that is done best here, at once."""
        with self.lock, table.lock:
            self._planned = False  # what a plan that was left finds is not wanted any more
            self._dropped.clear()
            prefix, low = table.prefix(), self.state.position
            rows = prefix.position - low
            if rows < _FEW_ROWS or rows * len(self.index) < _LITTLE_WORK or low < prefix.snapshot.version.position:
                return None
            frames = [frame for frame in table.frames if frame.end > low and frame.first < prefix.position]
            columns = tuple((c.name, str(c.type)) for c in self.columns)
            files = self._files.current()
            self._planned = True
        shards = range(table.definition.shards)
        tasks = [MatchTask(columns, files, sections_of(frames, shard), low, prefix.position) for shard in shards]
        return MatchPlan(self, prefix, tuple(task for task in tasks if task.sections), self._next)

    def take_matched(self, plan: MatchPlan, matched: Iterable[Matched]) -> bool:
        """The same with what workers have found by a plan. Entries that came since the plan meet these rows here."""
        with self.lock:
            rows = unseen(plan.prefix, self.state.position, self._schema)
            if rows is None:
                return False
            for each in matched:
                self._note_matches(each.seqs, each.matches)
            late = [(e.number, e.predicate) for e in self._entries.values() if e.kept and e.number >= plan.entries]
            if rows.num_rows:
                times = event_times(rows, self._time_column)
                self._rows.append(rows, times)
                seqs, columns = integers(rows.column(SEQ)), Columns(Batch(rows))
                if late:
                    self._note_matches(seqs, self._index_of(late).match(columns))
                self._grow(rows, times, lambda e: np.flatnonzero(e.test(columns)))
            self._matches.remove(self._dropped)
            self._planned = False
            self._dropped.clear()
            self._rows.move_on(plan.prefix.position)
            self._publish(plan.prefix.position, plan.prefix.now)
            return True

    def _note_matches(self, seqs: Ints, found: BatchMatches) -> None:
        self._matches.append(seqs, found.entries, found.places, found.dense)

    def _publish(self, position: int | None = None, now: int | None = None) -> None:
        """Make what was changed visible. With a position: rows up to it were taken in, and time stands at `now`."""
        before = self.state
        windows = before.windows
        if position is not None and (windows or self._windows):
            windows = self._moved(before, now)
            self._window_bytes = _bytes_of(windows)
        self.state = replace(
            before,
            position=before.position if position is None else position,
            rows=self._rows.snapshot,
            matches=self._matches.snapshot,
            now=before.now if position is None else now,
            entries=before.entries.changed({number: self._entries.get(number) for number in self._changed}),
            windows=windows,
            trees={key: (grown.tree.snapshot, grown.covered) for key, grown in self._trees.items()},
        )
        self._changed.clear()

    def _moved(self, before: State, now: int | None) -> dict[int, Ints]:
        """The matches in the windows that are applied at each tick, at the time `now`."""
        rows, matches = self._rows.snapshot, self._matches.snapshot
        begins = {window: self._begin(window, now) for window in {window for _, window in self._windows.values()}}
        found: dict[int, Ints] = {}
        for query, (entry, window) in self._windows.items():
            known = before.windows.get(query)
            if known is None:
                seqs = matches.of(entry)
            else:
                new = matches.of(entry, before.position)
                seqs = np.concatenate([known, new]) if len(new) else known
            if len(seqs) and begins[window] != Cut():
                seqs = seqs[begins[window].holds(rows.times_of(seqs), seqs)]
            found[query] = seqs
        return found

    def _begin(self, window: Window, now: int | None) -> Cut:
        """What a window holds at the time `now` and may hold later."""
        if now is None:
            return Cut()
        low = window.start(self._table, now)
        if low is not None:
            return Cut((low, 0))
        if window.rows is None:
            return Cut()
        runs = [chunk.by_time.upto(now, None) for chunk in self._rows.snapshot.chunks]
        count = max(1, window.rows)  # one of no rows reaches no farther back than the newest
        return Cut(nth_newest(runs, count)) if sum(map(len, runs)) >= count else Cut()

    # -- memory -----------------------------------------------------------------------------------------------------

    def expire(self, now: int | None) -> None:
        """Drop what no window can reach any more."""
        with self.lock:
            horizon = self._horizon(now)
            if horizon is None:
                return
            rows = self._rows.snapshot
            needed = next((chunk.first for chunk in rows.chunks if chunk.greatest >= horizon), rows.below)
            old = [chunk.greatest for chunk in rows.chunks if chunk.last < needed]
            if not old:
                return
            self._rows.drop_before(needed)  # and no later chunk: rows that match are held from there on
            self._matches.forget_before(needed)
            windows = self.state.windows  # one that came since the tick may hold more than its window
            windows = {q: seqs[seqs.searchsorted(needed) :] if len(seqs) else seqs for q, seqs in windows.items()}
            self._window_bytes = _bytes_of(windows)
            self.state = replace(self.state, floor=max(self.state.floor, *old), windows=windows)
            for grown in self._trees.values():
                grown.tree.forget_before(horizon)
                grown.covered = Complete(
                    max(grown.covered.seq, self._complete.seq), max(grown.covered.after, grown.tree.snapshot.after)
                )
            self._publish()

    def _horizon(self, now: int | None) -> int | None:
        """A time before which no window holds a row, from `now` on; None if there is none."""
        self._reach = +self._reach
        counting = [window for window in self._reach if window is not None and window.rows is not None]
        widest = max(counting, key=lambda window: window.rows or 0, default=None)  # it begins before the others
        begins = [
            None if window is None else self._begin(window, now).low
            for window in self._reach
            if window is None or window.rows is None or window is widest
        ]
        return min((begin[0] for begin in begins if begin is not None), default=None) if None not in begins else None

    def thin(self) -> bool:
        """Of the older half of the rows, keep only those that match an entry. Returns whether that freed anything."""
        with self.lock:
            before, rows = self.bytes, self._rows.snapshot
            first = max(rows.complete_from.seq, self._thinned)
            whole = [chunk for chunk in rows.chunks if chunk.last >= first]
            if not whole:
                return False
            cut = whole[len(whole) // 2].first if len(whole) > 1 else rows.below
            self._rows.thin(cut, self._matches.snapshot.needed(below_seq=cut))
            self._thinned = cut
            self._publish()
            return self.bytes < before

    def compact(self) -> None:
        """Give back the memory of entries and windows that are gone."""
        with self.lock:
            self._matches.compact()
            self._keep({q: seqs for q, seqs in self.state.windows.items() if q in self._windows})
            self._publish()

    @property
    def bytes(self) -> int:
        with self.lock:  # the index is put in order first
            trees = sum(grown.tree.bytes for grown in list(self._trees.values()))
            return self._rows.bytes + self._matches.bytes + self.index.bytes() + trees + self._window_bytes


def _bytes_of(windows: Mapping[int, Ints]) -> int:
    return sum(seqs.nbytes for seqs in windows.values())
