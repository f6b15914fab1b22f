"""The evaluator: a network of continuous queries over the rows that reach it, in one process.

    step(rows that came, how far time is complete)  ->  what each query sends, stamped with its instants

Queries are taken in an order in which each follows those it reads; what one sends goes into the inlet of its readers, so
effects of a step appear together. Windows by time and by rows are cut out of the inlets; partitioned windows are kept in
slots. What a query sends at an instant depends on the rows up to that instant and on nothing else, so it does not
matter how rows are cut into steps, nor whether the state was kept or filled from history in between.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema, data_type
from millpond.catalog import INSTANT, StreamingTable
from millpond.errors import MillpondError
from millpond.event_time import NEVER, Progress, event_times, sort_by_time
from millpond.network.aggregates.holders import worth_keeping
from millpond.network.aggregates.running import Running
from millpond.network.engine.engine import Engine
from millpond.network.engine.stream_operators import beyond, send
from millpond.network.engine.watch import Watch, definition_key
from millpond.network.evaluate.node import Node, Slots
from millpond.network.plan.key_lookup import lookups
from millpond.network.plan.kinds import (
    AGGREGATES,
    INSTANTS,
    MOMENT,
    NEIGHBOURS,
    NEWEST,
    ROWS,
    kind_of,
    remembers,
    simple_where,
)
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.two_phase import PREFIX
from millpond.network.state.checkpoints import Keepable, of_keys
from millpond.network.state.history import History
from millpond.network.strategies.batching import Question, ask_together, question_of
from millpond.network.strategies.grouped import Holding
from millpond.network.time.inlet import Inlet
from millpond.network.time.instants import arrivals, slides
from millpond.network.windows.arrivals import Arrived
from millpond.network.windows.keyed_rows import KeyedRows
from millpond.network.windows.neighbours import Neighbours, Side
from millpond.network.windows.predicates import compile_condition
from millpond.query.binding.uses import Use
from millpond.query.instant import at_instant, names_instant
from millpond.query.local import with_relations
from millpond.query.plan import used_columns
from millpond.query.relation import DUCKDB, with_previous
from millpond.schema import SEQ, Column, with_seq

Moments = npt.NDArray[np.int64]

_KEYS = 2000  # looked up at once
_CONTENTS = 8  # contents of windows remembered within a step; a query that catches up has thousands of instants


class Evaluator:
    """Not thread safe."""

    def __init__(self, history: History, *, threads: int = 1, watch: Watch | None = None) -> None:
        self.history = history
        self.engine = Engine(threads)
        self._watch = watch
        self.nodes: dict[str, Node] = {}
        self.inlets: dict[str, Inlet] = {}
        self._holding = Holding(self.inlets, history, self.engine)
        self._arrived: dict[tuple[str, int, int], Arrived] = {}  # of this step, shared among queries
        self._contents: dict[tuple[str, int, int], Arrived] = {}  # of windows by time at an instant, likewise
        self._answers: dict[tuple[str, int], pa.Table] = {}  # to queries asked together with another, not looked at yet
        self._together: set[tuple[Question, int]] = set()  # what was asked so

    # -- the network changes ----------------------------------------------------------------------------------------

    def add(self, prepared: Prepared, progress: Progress) -> None:
        """Take up a query that is to continue at `progress`: its windows are filled from history."""
        self.engine.learn(prepared.bound.functions)
        kind = kind_of(prepared)
        where = kind.where if kind.name != INSTANTS else simple_where(prepared)
        chosen = compile_condition(where) if where is not None or kind.name != INSTANTS else None
        node = Node(prepared, progress, kind, chosen, lookups=lookups(prepared) if kind.name == INSTANTS else {})
        if kind.name == INSTANTS and (where is None or chosen is not None):
            node.question = question_of(prepared)
        windows = [u.window for u in prepared.streams]
        node.by_time = not names_instant(prepared.bound.tree) and all(
            w and w.rows is None and not w.grows for w in windows
        )
        for use in prepared.streams:
            assert isinstance(use.table, StreamingTable)
            self.open(use.table)
        if progress.complete is None:  # it begins with the first row there ever was
            for use in prepared.streams:
                if not use.table.name.startswith(PREFIX):  # the first step begins when it begins
                    self._refill(self.inlets[use.table.name], use, NEVER, 0)
        else:
            for use in prepared.streams:
                self._fill(node, use, progress)
            if kind.name == INSTANTS and prepared.query.form != "rstream" and progress.last is not None:
                columns = arrow_schema(prepared.query.columns.without(INSTANT))
                kept = self.history.before(prepared.query, progress.last, columns) if remembers(prepared) else None
                node.before = kept if kept is not None else self._result(node, progress.last)
        self.nodes[prepared.name] = node

    def drop(self, name: str, *, keep_inlets: bool = False) -> None:
        self.nodes.pop(name, None)
        if keep_inlets:
            return
        read = {u.table.name for n in self.nodes.values() for u in n.prepared.streams}
        for stream in [s for s in self.inlets if s not in read]:
            del self.inlets[stream]

    def open(self, table: StreamingTable) -> Inlet:
        """The inlet of a stream, made if there is none."""
        if table.name not in self.inlets:
            schema = arrow_schema(with_seq(table.columns))
            self.inlets[table.name] = Inlet(schema, table.time_column)
        return self.inlets[table.name]

    def behind(self) -> bool:
        """Whether a query has instants to evaluate although nothing came: it began in the past."""
        return any(n.error is None and self._begin_and_end(n) is not None for n in self.nodes.values())

    def _fill(self, node: Node, use: Use, progress: Progress) -> None:
        inlet = self.inlets[use.table.name]
        assert progress.complete is not None
        assert use.window is not None
        begin = progress.complete
        if progress.last is not None and node.prepared.query.form != "rstream":
            begin = min(begin, progress.last)  # its result then is needed, to tell what is new
        window = use.window
        if node.kind.name == ROWS:
            self._refill(inlet, use, progress.complete, 0)
        elif node.kind.name in (NEIGHBOURS, NEWEST):
            node.shared = self._share(node, use, progress.complete - 1, filled=True)
            self._refill(inlet, use, progress.complete, 0)
        elif node.kind.name in AGGREGATES:
            upto = self._holding.fill(node, progress.complete - 1)
            self._refill(inlet, use, upto + 1, 0)
        elif window.columns:
            assert window.rows is not None
            upto = progress.complete - 1 if progress.last is None else progress.last
            if inlet.complete <= upto:  # of a stream that is not so far yet, rows before that are still to come
                upto = NEVER if inlet.complete == NEVER else inlet.complete - 1
            slots = Slots(KeyedRows(inlet.schema, inlet.time_column, window.columns, window.rows), upto)
            past = self.history.keyed(use.table.name, window.columns, window.rows, upto) if upto != NEVER else ()
            for rows in past:
                slots.rows.fill(rows)
            node.slots[use.name] = slots
            self._refill(inlet, use, upto + 1, 0)
        elif window.rows is not None:
            self._refill(inlet, use, begin + 1, window.rows)
        else:
            self._refill(inlet, use, node.prepared.start(use, begin), 0)

    def _share(self, node: Node, use: Use, upto: int, *, filled: bool) -> Neighbours:
        """The partitioned window of a use at `upto`: one that others have already, or a new one."""
        window, inlet = use.window, self.inlets[use.table.name]
        assert window is not None
        assert window.rows is not None
        for other in self.nodes.values():
            theirs = other.prepared.streams[0]
            same = theirs.table.name == use.table.name and theirs.window == window
            if same and other.shared is not None and other.shared.stands_at(upto):
                return other.shared
        made = Neighbours(inlet, window.columns, window.rows, upto)
        if filled:
            for rows in self.history.keyed(use.table.name, window.columns, window.rows, upto):
                made.fill(rows)
        return made

    def _refill(self, inlet: Inlet, use: Use, low: int, count: int) -> None:
        """Make sure an inlet reaches back to `low`, and `count` rows further."""
        high = inlet.complete - 1
        if inlet.complete == NEVER:
            return
        if count:
            before = self.history.newest(use.table.name, count, min(low - 1, high))
            if before.num_rows:
                low = int(event_times(before, inlet.time_column)[0])
        if low < inlet.trimmed:
            past = None if low == NEVER else low
            rows = self.history.rows(use.table.name, past, high) if low <= high else inlet.schema.empty_table()
            inlet.reset(rows, low)

    # -- a step -----------------------------------------------------------------------------------------------------

    def step(self, rows: Mapping[str, pa.Table], complete: Mapping[str, int]) -> dict[str, pa.Table]:
        """Take in rows of streams, and evaluate every instant that is complete now."""
        self._take_in(rows, complete)
        sent: dict[str, pa.Table] = {}
        for node in self.nodes.values():
            found = self._try(node)
            inlet_of = self.inlets.get(node.prepared.name)
            if found is not None and found.num_rows:
                sent[node.prepared.name] = found
            if inlet_of is not None:
                self._hand_on(node, found, inlet_of)
        self._end_step()
        return sent

    def _take_in(self, rows: Mapping[str, pa.Table], complete: Mapping[str, int]) -> None:
        for name, inlet in self.inlets.items():
            if name in rows:
                inlet.push(rows[name])
            if name in complete:
                inlet.advance(complete[name])

    def _end_step(self) -> None:
        """Forget what only this step needed, and what no window will look at again."""
        self._trim()
        self._arrived.clear()
        self._contents.clear()
        self._answers.clear()
        self._together.clear()
        for node in self.nodes.values():
            node.fetched.clear()
            if node.shared is not None:
                node.shared.forget_step()

    def _hand_on(self, node: Node, found: pa.Table | None, inlet: Inlet) -> None:
        """Give what a query sent to those who read it. A query that has not begun yet has the time of what it reads."""
        complete = node.progress.complete
        if complete is None and node.error is None:
            complete = min(i.complete for i in self._inlets(node))
        if complete is None or complete == NEVER:
            return
        rows = inlet.schema.empty_table()
        if found is not None:
            rows = numbered(found, inlet.sent).cast(inlet.schema)
            inlet.sent += found.num_rows
        inlet.settled(rows, complete)

    def skip(self, rows: Mapping[str, pa.Table], complete: Mapping[str, int], progress: Mapping[str, Progress]) -> None:
        """Take in rows whose instants were evaluated elsewhere, so that the next step goes on after them."""
        self._take_in(rows, complete)
        for name, node in self.nodes.items():
            self._skip(node, progress[name])
        self._end_step()

    def _skip(self, node: Node, progress: Progress) -> None:
        if progress.complete is None or progress.complete == node.progress.complete:
            return
        begin = node.progress.complete
        if begin is None:
            begin = min((t for i in self._inlets(node) if (t := i.first_time()) is not None), default=progress.complete)
            begin = min(begin, progress.complete)
            self._begin(node, begin)
        if node.running is not None:
            self._holding.skip(node, progress.complete)
        if node.shared is not None and begin < progress.complete:
            node.shared.advance(self.inlets[node.prepared.streams[0].table.name], begin, progress.complete)
        if node.kind.name == INSTANTS and node.prepared.query.form != "rstream" and progress.last != node.progress.last:
            assert progress.last is not None
            node.before = self._result(node, progress.last)
        node.progress = progress

    def keepable(self) -> Iterator[tuple[str, str, int, Keepable]]:
        """The windows of which snapshots are worth while, each once: stream, what it is, up to which time, what it holds."""
        seen: set[tuple[str, str]] = set()
        for node in self.nodes.values():
            for held in worth_keeping(node.prepared, node.running):
                if held[:2] not in seen:
                    seen.add(held[:2])
                    yield held
            for use in node.prepared.streams:
                window = use.window
                found = node.shared or node.slots.get(use.name)
                if found is None or found.upto == NEVER:
                    continue
                if window is None or window.rows is None or window.interval is not None:
                    continue
                key = (use.table.name, of_keys(window.columns, window.rows))
                if key not in seen:
                    seen.add(key)
                    yield *key, found.upto, found.rows

    def held(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Rows and bytes that are held, by holder and what it is."""
        found = {(name, "rows in windows by time, shared"): (i.rows, i.bytes) for name, i in self.inlets.items()}
        seen: set[int] = set()
        for node in self.nodes.values():
            keyed = [(s.rows, "") for s in node.slots.values()]
            if node.shared is not None and id(node.shared) not in seen:
                seen.add(id(node.shared))
                keyed.append((node.shared.rows, ", shared"))
            for number, (rows, note) in enumerate(keyed):
                what = f"partitioned window{f' {number + 1}' if number else ''}, {rows.slots.size} keys{note}"
                found[node.prepared.name, what] = (rows.rows, rows.bytes)
            if node.running is not None:
                what = "running aggregates" if isinstance(node.running, Running) else "synopses"
                what = f"{what} of {node.running.rows} groups"
                found[node.prepared.name, what] = (node.running.rows, node.running.bytes)
            if node.before is not None:
                found[node.prepared.name, "result at the last instant"] = (node.before.num_rows, node.before.nbytes)
        return found

    def _try(self, node: Node) -> pa.Table | None:
        """A query that fails stops; the others do not notice."""
        if node.error is not None:
            return None
        try:
            with self._watched(node.prepared):
                return self._catch_up(node)
        except (MillpondError, MemoryError, ArithmeticError, ValueError) as error:
            node.error = str(error) or type(error).__name__
            return None

    @contextlib.contextmanager
    def _watched(self, prepared: Prepared) -> Iterator[None]:
        """Questions to the engine are those of this query: it can be told who takes long, and stopped."""
        if self._watch is None:
            yield
            return
        with self._watch.over(prepared.name, definition_key(prepared.query.folder, prepared.query.made)) as evaluation:
            self.engine.evaluation = evaluation
            try:
                yield
            finally:
                self.engine.evaluation = None

    def _inlets(self, node: Node) -> list[Inlet]:
        return [self.inlets[u.table.name] for u in node.prepared.streams]

    def _begin_and_end(self, node: Node) -> tuple[int, int] | None:
        """The times between which instants are to be evaluated now, if any."""
        inlets = self._inlets(node)
        complete = min(i.complete for i in inlets)
        begin = node.progress.complete
        if complete == NEVER or (begin is not None and complete <= begin):
            return None
        if begin is None:
            begin = min((t for i in inlets if (t := i.first_time()) is not None and t < complete), default=None)
        return None if begin is None else (begin, complete)

    def _catch_up(self, node: Node) -> pa.Table | None:
        span = self._begin_and_end(node)
        if span is None:
            return None
        begin, complete = span
        inlets = self._inlets(node)
        if node.progress.complete is None:
            self._begin(node, begin)
        if node.kind.name in AGGREGATES:
            return self._holding.run(node, begin, complete)
        if node.kind.name != INSTANTS:
            return self._at_once(node, begin, complete)
        slide = node.prepared.slide
        due: Iterable[int]
        if slide is not None:
            due = self._slides(node, begin, complete, slide)
        else:
            due = arrivals([t for i in inlets for t in i.times()], begin, complete)
        sent = []
        for instant in due:
            try:
                sent.append(stamped(self._send(node, instant), instant, node))
            except MillpondError as error:  # what it sent before is sent; it stops here
                node.error = str(error)
                complete = instant
                break
            node.progress = Progress(instant + 1, instant)
        passed = slides(begin, complete, slide) if slide is not None else ()
        node.progress = Progress(complete, passed[-1] if passed else node.progress.last)
        return pa.concat_tables(sent) if sent else None

    def _slides(self, node: Node, begin: int, complete: int, slide: int) -> Iterator[int]:
        """The multiples of `slide` in [begin, complete). Of those at which all windows are empty, and so is the result,
        only the first: after a row with a time of long ago there may be thousands of millions."""
        instant = slides(begin, complete, slide).start
        while instant < complete:
            yield instant
            following = instant + slide
            if node.quiet and node.by_time:
                wakes = self._wakes(node, instant)
                following = max(following, slides(complete if wakes is None else wakes, complete, slide).start)
            instant = following

    def _wakes(self, node: Node, instant: int) -> int | None:
        """When a row comes to a window, if none holds one at an instant: the time of the first, else the instant itself."""
        found = []
        for use in node.prepared.streams:
            time = self.inlets[use.table.name].next_time(node.prepared.start(use, instant))
            if time is not None:
                found.append(max(time, instant))
        return min(found, default=None)

    def _at_once(self, node: Node, begin: int, complete: int) -> pa.Table | None:
        """All instants of a step together, for the kinds that allow it."""
        use = node.prepared.streams[0]
        inlet = self.inlets[use.table.name]
        if node.kind.name == ROWS:
            key = (use.table.name, begin, complete)
            if key not in self._arrived:
                self._arrived[key] = Arrived(inlet.between(begin, complete - 1), inlet.time_column)
            changes: tuple[Arrived | Side, Side | None] = (self._arrived[key], None)
        else:
            assert node.shared is not None
            change = node.shared.advance(inlet, begin, complete)
            if node.kind.name == NEWEST:
                changes = (change.newest(node.prepared.interval(use)), None)
            elif node.prepared.query.form == "istream":
                changes = (change.after, change.before)
            else:
                changes = (change.before, change.after)
        try:
            found = self._difference(node, *changes)
        except MillpondError:
            found, complete = self._up_to_failure(node, *changes, complete)
        last = inlet.last_time(complete - 1)
        node.progress = Progress(complete, last if last is not None and last >= begin else node.progress.last)
        return found

    def _difference(self, node: Node, now: Arrived | Side, before: Side | None) -> pa.Table:
        found = self._select(node, now)
        if before is not None and found.num_rows:
            found = beyond(self.engine, found, self._select(node, before))
            found = found.take(pa.array(np.argsort(event_times(found, INSTANT), kind="stable")))
        return found

    def _up_to_failure(
        self, node: Node, now: Arrived | Side, before: Side | None, complete: int
    ) -> tuple[pa.Table, int]:
        """A query that fails at some instant sends what it would have sent before it, and stops there."""
        sent = [arrow_schema(node.prepared.query.columns).empty_table()]
        moments = [now.moments] if before is None else [now.moments, before.moments]
        for moment in np.unique(np.concatenate(moments)):
            try:
                sent.append(self._difference(node, now.at_moment(moment), before and before.at_moment(moment)))
            except MillpondError as error:
                node.error = str(error)
                return pa.concat_tables(sent), int(moment)
        return pa.concat_tables(sent), complete  # a function that does not always fail

    def _select(self, node: Node, batch: Arrived | Side) -> pa.Table:
        """What a query of SELECT and WHERE makes of rows, each stamped with its moment."""
        schema = arrow_schema(node.prepared.query.columns)
        places = None
        if node.chosen is not None and batch.size:
            places = np.flatnonzero(node.chosen(batch.columns))
        if not batch.size or (places is not None and not len(places)):
            return schema.empty_table()
        moments = pa.array(batch.moments if places is None else batch.moments[places])
        stamps = moments.cast(schema.field(INSTANT).type)
        if places is not None and node.kind.plain is not None:
            rows = batch.rows(dict.fromkeys(node.kind.plain), places)
            found = [*(rows.column(name) for name in node.kind.plain), stamps]
            return pa.Table.from_arrays(found, names=schema.names).cast(schema)
        name = node.prepared.streams[0].name
        rows = batch.rows(node.kind.needs, places).append_column(MOMENT, stamps)
        text = with_relations([f"{name} AS NOT MATERIALIZED (SELECT * FROM {name}_rows)"], node.kind.text)
        return self.engine.run(text, {f"{name}_rows": rows}).rename_columns(schema.names).cast(schema)

    def _begin(self, node: Node, begin: int) -> None:
        """The first rows a query ever sees: its partitioned windows start empty."""
        if node.kind.name in (NEIGHBOURS, NEWEST):
            node.shared = self._share(node, node.prepared.streams[0], begin - 1, filled=False)
        if node.kind.name in AGGREGATES:
            self._holding.begin(node, begin - 1)
        if node.kind.name != INSTANTS:
            return
        for use in node.prepared.streams:
            assert use.window is not None
            if use.window.columns and use.name not in node.slots:
                inlet = self.inlets[use.table.name]
                assert use.window.rows is not None
                keyed = KeyedRows(inlet.schema, inlet.time_column, use.window.columns, use.window.rows)
                node.slots[use.name] = Slots(keyed, begin - 1)

    def _send(self, node: Node, instant: int) -> pa.Table:
        form = node.prepared.query.form
        now = self._result_with_others(node, instant)
        node.quiet = not now.num_rows
        if form == "rstream":
            return now
        before, node.before = node.before, now
        return send(self.engine, form, now, before)

    def _result_with_others(self, node: Node, instant: int) -> pa.Table:
        """The result; where others ask the same of their rows, now or later in this step, theirs are found with it."""
        key = (node.prepared.name, instant)
        if node.question is not None and (node.question, instant) not in self._together:
            self._together.add((node.question, instant))
            peers = [n for n in self.nodes.values() if n.question == node.question and self._is_due(n, instant)]
            rows = ((n.prepared.name, self._asked_of(n, instant)) for n in peers)
            if len(peers) > 1:
                with contextlib.suppress(MillpondError):  # it is asked alone, and so are they
                    answers = ask_together(self.engine, node.question, rows, instant)
                    self._answers.update({(name, instant): found for name, found in answers})
        found = self._answers.pop(key, None)
        return self._result(node, instant) if found is None else self._typed(node, found)

    def _is_due(self, node: Node, instant: int) -> bool:
        span = self._begin_and_end(node) if node.error is None else None
        return span is not None and span[0] <= instant < span[1]

    def _asked_of(self, node: Node, instant: int) -> pa.Table:
        assert node.question is not None
        return self._fitting(node, node.prepared.streams[0], instant, node.question.columns).select(
            node.question.columns
        )

    def _typed(self, node: Node, found: pa.Table) -> pa.Table:
        columns = node.prepared.query.columns.without(INSTANT)
        return found.rename_columns(columns.names).cast(arrow_schema(columns))

    def _result(self, node: Node, instant: int) -> pa.Table:
        """The one-time result over the contents of the windows at an instant."""
        tables = {u.name: self._fitting(node, u, instant) for u in node.prepared.streams if u.name not in node.lookups}
        for use in node.prepared.streams:
            if use.name in node.lookups:
                lookup = node.lookups[use.name]
                keys = [tables[lookup.by.name].column(c) for c in lookup.others]
                tables[use.name] = self._content(node, use, instant, keys)
        for use in node.prepared.standards:
            if use.name in node.lookups:
                tables[use.name] = self._looked_up(node, use, instant)
            else:
                tables[use.name] = self.history.standard(use.table.name)
        return self._typed(node, ask(self.engine, node.prepared, tables, instant))

    def _looked_up(self, node: Node, use: Use, instant: int) -> pa.Table:
        """The rows of a standard table that can matter at an instant; fetched for several instants at once."""
        known = node.fetched.get(use.name)
        if known is not None and known[0] >= instant:
            return known[1]
        lookup = node.lookups[use.name]
        inlet = self.inlets[lookup.by.table.name]
        batch = Arrived(inlet.between(instant, inlet.complete - 1), inlet.time_column)
        places = np.flatnonzero(lookup.where(batch.columns)) if lookup.where is not None and batch.size else None
        rows, upto = batch.rows(lookup.others, places), inlet.complete - 1
        moments = batch.moments if places is None else batch.moments[places]
        if len(moments) > _KEYS:  # as many instants as have so many rows, but at least the one
            upto = max(instant, int(moments[_KEYS]) - 1)
            rows = rows.slice(0, int(np.searchsorted(moments, upto, side="right")))
        found = self.history.looked_up(use.table.name, lookup.columns, rows.columns)
        node.fetched[use.name] = (upto, found)
        return found

    def _fitting(self, node: Node, use: Use, instant: int, names: Sequence[str] = ()) -> pa.Table:
        """The content of a window, without rows that a simple WHERE leaves out: the test is shared among queries. It has the
        columns `names`, or all."""
        if node.chosen is None or use.window is None or use.window.rows is not None:
            return self._content(node, use, instant)
        key = (use.table.name, instant, node.prepared.start(use, instant))
        if key not in self._contents:
            if len(self._contents) >= _CONTENTS:
                self._contents.clear()
            whole = self._content(node, use, instant).combine_chunks()  # rows are taken from it many times
            self._contents[key] = Arrived(whole, self.inlets[use.table.name].time_column)
        content = self._contents[key]
        places = np.flatnonzero(node.chosen(content.columns)) if content.size else None
        if names:
            return content.rows(names, places)
        names = list(dict.fromkeys([*used_columns(node.prepared.bound, use), use.time_column or SEQ, SEQ]))
        rows = content.rows(names, places)
        missing = [f for f in self.inlets[use.table.name].schema if f.name not in names]
        for field_ in missing:  # named by nobody, but part of the relation
            rows = rows.append_column(field_, pa.nulls(rows.num_rows, field_.type))
        return rows

    def _content(self, node: Node, use: Use, instant: int, keys: Sequence[pa.ChunkedArray] | None = None) -> pa.Table:
        inlet = self.inlets[use.table.name]
        window = use.window
        assert window is not None
        if window.columns:
            slots = node.slots[use.name]
            if instant > slots.upto:
                rows = inlet.between(slots.upto + 1, instant)
                slots.rows.take_in(rows)
                slots.upto = instant
            content = slots.rows.content(keys)
            interval = node.prepared.interval(use)
            if interval is not None:
                recent = event_times(content, inlet.time_column) >= instant - interval
                content = content.filter(pa.array(recent))
                if keys is None and 2 * int(recent.sum()) < len(
                    recent
                ):  # most keys have been silent for long: let them go
                    slots.rows = KeyedRows(inlet.schema, inlet.time_column, window.columns, slots.rows.k)
                    content = sort_by_time(content, inlet.time_column)
                    slots.rows.take_in(content)
            return content
        if window.rows is not None:
            interval = node.prepared.interval(use)
            newest = inlet.newest(window.rows, instant)
            if interval is None:
                return newest
            return newest.filter(pa.array(event_times(newest, inlet.time_column) >= instant - interval))
        return inlet.between(node.prepared.start(use, instant), instant)

    def _trim(self) -> None:
        needs = {name: (inlet.complete, 0) for name, inlet in self.inlets.items()}
        for node in self.nodes.values():
            for use in node.prepared.streams:
                low, keep = needs[use.table.name]
                oldest, count = self._needs(node, use)
                needs[use.table.name] = (min(low, oldest), max(keep, count))
        for name, (low, keep) in needs.items():
            if low != NEVER:
                self.inlets[name].trim(low, keep=keep)

    def _needs(self, node: Node, use: Use) -> tuple[int, int]:
        """The earliest time of a stream that a query will still look at, and how many rows before it."""
        complete = node.progress.complete
        window = use.window
        assert window is not None
        if complete is None:
            return NEVER, 0
        if node.running is not None:
            return node.running.upto + 1, 0
        if node.kind.name != INSTANTS:
            return complete, 0
        if window.columns:
            return node.slots[use.name].upto + 1, 0
        if window.rows is not None:
            return complete, window.rows
        return node.prepared.start(use, complete), 0

    def close(self) -> None:
        self.engine.close()


def ask(engine: Engine, prepared: Prepared, tables: Mapping[str, pa.Table], instant: int) -> pa.Table:
    """The result over given contents of the relations."""
    parts = []
    for use in (*prepared.streams, *prepared.standards):
        content = with_previous(use, f"SELECT * FROM {use.name}_rows", DUCKDB)
        parts.append(f"{use.name} AS NOT MATERIALIZED ({content})")
    text = with_relations(parts, at_instant(prepared.text, instant))
    engine.learn(prepared.bound.functions)
    return engine.run(text, {f"{name}_rows": rows for name, rows in tables.items()})


def result_columns(engine: Engine, prepared: Prepared) -> list[Column]:
    """What a query selects, found by asking it over nothing."""
    tables = {}
    for use in (*prepared.streams, *prepared.standards):
        columns = use.columns if use in prepared.standards else with_seq(use.columns)
        tables[use.name] = arrow_schema(columns).empty_table()
    found = ask(engine, prepared, tables, 0).schema
    return [Column(n.lower(), data_type(f.type)) for n, f in zip(prepared.bound.names, found, strict=True)]


def stamped(rows: pa.Table, instant: int, node: Node) -> pa.Table:
    """Rows of a result with the instant as their last column."""
    schema = arrow_schema(node.prepared.query.columns)
    kind = schema.field(INSTANT).type
    times = pa.array(np.full(rows.num_rows, instant)).cast(kind)
    return pa.Table.from_arrays([*rows.columns, times], schema=schema)


def numbered(rows: pa.Table, first: int) -> pa.Table:
    """Rows with their numbers in a last column."""
    numbers = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
    return rows.append_column(pa.field(SEQ, pa.int64()), numbers)
