"""The standing queries of an open pond: which there are, how each is served, and what this process keeps for them.

A query is taken up when it is registered, or when somebody asks it for the first time after the pond was opened or after it was
swapped out. Then its entries are added to what is kept of the tables it reads. Only the writer keeps anything: it alone sees
every change. A reader answers from scratch.

Locks. `_lock` guards who is taken up. It is held while an entry meets the rows that are there, never while a query is answered.
The registry tells what changed while its own lock is held, so who holds `_lock` asks the registry nothing that needs that.
`_order` guards who was asked last; it is held for a moment.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from millpond.catalog import Catalog
from millpond.config import Config
from millpond.predicate.form import Predicate
from millpond.query.binding.uses import Bound
from millpond.query.clauses import Refusal
from millpond.standing.definition import StandingQuery
from millpond.standing.entry_files import EntryFiles
from millpond.standing.keeper import KeptTable, MatchPlan
from millpond.standing.kept_join import KeptJoin
from millpond.standing.plan import Served, serve
from millpond.standing.registry import FOLDER, Registry
from millpond.standing.text import first_gone
from millpond.standing.work import Matched
from millpond.table.stream import StreamTable
from millpond.windows.base import Window

_MOST_BOUND = 10_000  # queries whose names stay resolved


class Host(Protocol):
    """What standing queries ask of their pond."""

    folder: Path
    config: Config
    catalog: Catalog

    @property
    def owned(self) -> bool:
        """Whether this process is the writer."""

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""


@dataclass(frozen=True)
class Serving:
    """How a query is answered: from the entries of these tables, one for each part; or why not."""

    catalog: Catalog
    bound: Bound
    served: Served | Refusal
    tables: tuple[KeptTable, ...] = ()
    entries: tuple[int, ...] = ()
    join: KeptJoin | None = None

    @property
    def windows(self) -> tuple[Window | None, ...]:
        return () if isinstance(self.served, Refusal) else tuple(part.use.window for part in self.served.parts)


class StandingQueries:
    """Owned by the workspace."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.RLock()
        self._order = threading.Lock()
        self.registry = Registry(host.folder)
        self.registry.changed = self._changed
        self.bound: OrderedDict[int, tuple[Catalog, Bound]] = OrderedDict()
        self.kept: dict[str, KeptTable] = {}  # by folder of the table
        self._serving: OrderedDict[int, Serving] = OrderedDict()  # the one asked last comes last
        self._entered: dict[
            int, tuple[KeptTable, int, Window | None]
        ] = {}  # queries that meet rows and were never asked
        self._run_folder = host.folder / FOLDER / "run"

    def remember(self, query: StandingQuery, catalog: Catalog, bound: Bound) -> None:
        """Keep the names of a query resolved, as long as the catalog is the same."""
        self.bound[query.number] = (catalog, bound)
        while len(self.bound) > _MOST_BOUND:
            self.bound.popitem(last=False)

    def refresh(self) -> None:
        self.registry.refresh()

    def become_writer(self) -> None:
        self.registry.become_writer()

    def _changed(self, came: Sequence[StandingQuery], went: Sequence[StandingQuery]) -> None:
        with self._lock:
            for query in went:
                self.bound.pop(query.number, None)
            self._let_go([query.number for query in went])

    # -- serving ----------------------------------------------------------------------------------------------------

    def serving(self, query: StandingQuery, bound: Bound) -> Serving:
        """How a query is answered now. It is taken up if it is not."""
        known = self._serving.get(query.number)
        catalog = self._host.catalog
        if known is not None and known.catalog is catalog and all(t.alive for t in known.tables):
            with self._order, contextlib.suppress(KeyError):  # dropped or swapped out meanwhile
                self._serving.move_to_end(query.number)
            return known
        with self._lock:
            made = self._take_up(query, bound, catalog)
            self._let_go([query.number])  # only now, so that an entry that it has already stays
            if query.number in self.registry:
                with self._order:
                    self._serving[query.number] = made
                if query.keep == "complete" and not isinstance(made.served, Refusal) and made.served.plain is not None:
                    made.tables[0].keep_windows({query.number: made.entries[0]}, made.windows[0])
            else:  # dropped meanwhile
                self._release(query.number, made)
                self._close_unused()
            return made

    def _take_up(self, query: StandingQuery, bound: Bound, catalog: Catalog) -> Serving:
        if query.keep == "nothing":
            return Serving(catalog, bound, Refusal("it is registered with KEEP NOTHING"))
        if not self._host.owned:
            return Serving(catalog, bound, Refusal("only the process that writes the pond keeps anything"))
        served = serve(bound, frozenset(t.folder for t in catalog.streaming.values()))
        if isinstance(served, Refusal):
            return Serving(catalog, bound, served)
        tables, entries = [], []
        for part in served.parts:
            table = self._kept(part.table.name)
            tables.append(table)
            entries += table.add([part.predicate], part.use.window, always=query.keep != "auto")
            if served.aggregated is not None:
                table.add_tree(entries[-1], served.aggregated)
        join = None if served.join is None else KeptJoin(served.join, served.parts, tables, entries)
        return Serving(catalog, bound, served, tuple(tables), tuple(entries), join)

    def enter(self, queries: Sequence[StandingQuery], served: Served, predicates: Sequence[Predicate]) -> None:
        """Let many queries of one form and window, over one stream, meet rows. The rest is found out when one is asked."""
        (part,) = served.parts
        with self._lock:
            table = self._kept(part.table.name)
            entries = table.add(predicates, part.use.window, always=queries[0].keep != "auto")
            entry_of = {query.number: entry for query, entry in zip(queries, entries, strict=True)}
            self._entered |= {number: (table, entry, part.use.window) for number, entry in entry_of.items()}
            if queries[0].keep == "complete" and served.plain is not None:
                table.keep_windows(entry_of, part.use.window)
        self.shrink()

    def _leave(self, numbers: Iterable[int]) -> None:
        """Of queries that were never asked: let their entries go."""
        together: dict[tuple[KeptTable, Window | None], list[int]] = {}
        for number in numbers:
            found = self._entered.pop(number, None)
            if found is not None and found[0].alive:
                table, entry, window = found
                table.drop_window(number)
                together.setdefault((table, window), []).append(entry)
        for (table, window), entries in together.items():
            table.remove(entries, window)

    def _kept(self, name: str) -> KeptTable:
        table = self._host.stream(name)
        folder = table.definition.folder
        found = self.kept.get(folder)
        if found is None or not found.alive or found.columns != table.definition.columns:
            if found is not None:
                found.close()
            files = EntryFiles(self._run_folder, f"{folder}-{uuid.uuid4().hex[:8]}")
            found = self.kept[folder] = KeptTable(table, files)
        return found

    def _let_go(self, numbers: Sequence[int]) -> None:
        """Keep nothing of some queries."""
        self._leave(numbers)
        for number in numbers:
            with self._order:
                known = self._serving.pop(number, None)
            if known is not None:
                self._release(number, known)
        self._close_unused()

    def _close_unused(self) -> None:
        for folder in [f for f, table in self.kept.items() if not table.used]:
            self.kept.pop(folder).close()

    def _release(self, number: int, known: Serving) -> None:
        """A query needs its entries no longer."""
        for table, entry, window in zip(known.tables, known.entries, known.windows, strict=True):
            if table.alive:
                table.drop_window(number)
                if not isinstance(known.served, Refusal) and known.served.aggregated is not None:
                    table.drop_tree(entry, known.served.aggregated)
                table.remove([entry], window)

    # -- ticks and changes ------------------------------------------------------------------------------------------

    def take_in(self) -> None:
        """As a part of a tick in this process: rows accepted so far meet the queries."""
        for kept, table in self._open():
            self._take_in(kept, table)
        self._settle()

    def _settle(self) -> None:
        """After all tables have moved on."""
        for join in self._joins():
            join.move_on()
        self.shrink()

    def _joins(self) -> list[KeptJoin]:
        return [serving.join for _, serving in self._served() if serving.join is not None]

    def _served(self) -> list[tuple[int, Serving]]:
        """What was asked, with the one asked last at the end."""
        with self._order:
            return list(self._serving.items())

    def _take_in(self, kept: KeptTable, table: StreamTable) -> None:
        self._check(kept, kept.take_in(table.prefix()))
        kept.expire(table.now)

    def plan(self) -> list[MatchPlan]:
        """As a part of a tick of the pipeline: what workers have to match. What is little is matched here, at once."""
        plans = []
        for kept, table in self._open():
            plan = kept.plan(table)
            if plan is None:
                self._take_in(kept, table)
            else:
                plans.append(plan)
        if not plans:
            self._settle()
        return plans

    def finish(self, plans: Sequence[MatchPlan], results: Sequence[Matched]) -> None:
        """What the tasks of some plans found, in their order."""
        found = iter(results)
        for plan in plans:
            matched = [next(found) for _ in plan.tasks]
            if plan.table.alive:
                self._check(plan.table, plan.table.take_matched(plan, matched))
                plan.table.expire(plan.prefix.now)
        if plans:
            self._settle()

    # -- memory -----------------------------------------------------------------------------------------------------

    @property
    def bytes(self) -> int:
        """What is kept takes so much memory."""
        return sum(table.bytes for table in list(self.kept.values())) + sum(join.bytes for join in self._joins())

    def shrink(self) -> None:
        """Keep what is kept within the setting `standing_memory`: thin old rows, then swap out queries not asked for longest."""
        limit = self._host.config.standing_memory
        while self.bytes > limit:
            with self._lock:
                largest = sorted(self.kept.values(), key=lambda table: table.bytes, reverse=True)
                if any(table.thin() for table in largest):
                    continue
                kept = [*self._entered, *(number for number, serving in self._served() if serving.tables)]
                if not kept:
                    return
                self._let_go(kept[: max(1, len(kept) // 4)])
                for table in self.kept.values():
                    table.compact()

    def state(self, query: StandingQuery) -> tuple[str, str | None]:
        """What is kept of a query, in a word, and why, if it is nothing."""
        if (gone := first_gone(query, self._host.catalog)) is not None:
            name, told = gone
            return "nothing", f'table "{name}" is gone: {told}'
        known = self._serving.get(query.number)
        if known is None and query.number in self._entered:
            return "kept", None
        if known is None:
            return "swapped out", "nobody has asked it since the pond was opened, or others were asked more often"
        if isinstance(known.served, Refusal):
            return "nothing", known.served.reason
        return ("kept", None) if all(t.alive for t in known.tables) else ("swapped out", "rows were changed")

    def _open(self) -> list[tuple[KeptTable, StreamTable]]:
        """What is kept, with the tables it is of. What is of tables that are gone is forgotten."""
        names = {t.folder: t.name for t in self._host.catalog.streaming.values()}
        with self._lock:
            self.forget([folder for folder in self.kept if folder not in names])
            opened = [(kept, self._host.stream(names[folder])) for folder, kept in self.kept.items()]
        return [(kept, table) for kept, table in opened if table.damage is None]

    def _check(self, kept: KeptTable, complete: bool) -> None:
        """Rows that are in the archive before they were taken in leave a gap: begin anew."""
        if not complete:
            with self._lock:
                self.forget([folder for folder, each in self.kept.items() if each is kept])

    def close(self) -> None:
        with self._lock:
            self.forget(list(self.kept))
        if self._host.owned:
            shutil.rmtree(self._run_folder, ignore_errors=True)

    def forget(self, folders: Iterable[str]) -> None:
        """What is kept of some tables is no longer true: their rows were changed, or they are gone."""
        with self._lock:
            for folder in folders:
                found = self.kept.pop(folder, None)
                if found is not None:
                    found.close()
