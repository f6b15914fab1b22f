"""Continuous queries by plain lists: what each must send at every instant, by the definition and nothing else.

It knows nothing of ticks of an engine, states, slots, shards or files. All accepted rows of a stream are one list in
order of arrival; for each instant the contents of every window are searched out of it from end to end, and the query is
evaluated over them row by row, in SQL's three-valued logic.

The grammar, as plain tuples. Times and lengths of time are integers, all in the same unit.

    window      ("interval", i) | ("landmark", i) | ("now",) | ("rows", k) | ("keyed", columns, k, within or None)
    expression  ("col", alias, name) | ("prev", alias, name, n) | ("lit", value) | ("now",) | ("+" | "-" | "*", a, b)
                | ("case", condition, a, b) | ("coalesce", a, b) | ("scalar", Select)
                | ("count*",) | ("count" | "sum" | "avg" | "min" | "max" | "distinct", expression)   aggregates
                | ("row_number" | "rank", partition expressions, order expression, descending)    window functions
    condition   ("=" | "<>" | "<" | "<=" | ">" | ">=", a, b) | ("in", a, values) | ("null", a) | ("not", c)
                | ("and" | "or", c, d) | ("in select", a, Select) | ("exists", Select)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Term = tuple[Any, ...]  # an expression, a condition or a window
Values = tuple[Any, ...]

BEFORE = "<"  # in a row of a partitioned window: the row before it there


@dataclass(frozen=True)
class Source:
    """A table in FROM. Without a window it is a standard table. `join` says how it meets those before it."""

    alias: str
    table: str
    window: Term | None = None
    join: str = "inner"  # or "left"
    on: Term | None = None


@dataclass(frozen=True)
class Select:
    sources: tuple[Source, ...]
    columns: tuple[tuple[str, Term], ...]  # name and expression
    where: Term | None = None
    group: tuple[Term, ...] = ()
    having: Term | None = None
    distinct: bool = False


@dataclass(frozen=True)
class Query:
    """`slide` None is REALTIME, or EACH ROW. `history` makes it a view that keeps its results so long."""

    name: str
    select: Select
    form: str = "rstream"
    slide: int | None = None
    history: int | None = None
    each_row: bool = False


@dataclass
class Stream:
    """A streaming table: the rows it accepted, in order of arrival, each with its time under "t". With `history` it keeps them so
    long, and no window by rows reaches further back."""

    lateness: int = 0
    history: int | None = None
    rows: list[Row] = field(default_factory=list)
    late: int = 0
    highest: int | None = None
    heartbeat: int | None = None

    @property
    def is_emptied(self) -> bool:
        """Whether it has had rows, and all were deleted."""
        return not self.rows and self.highest is not None

    @property
    def now(self) -> int | None:
        known = [] if self.heartbeat is None else [self.heartbeat]
        known += [] if self.highest is None else [self.highest - self.lateness]
        return max(known, default=None)

    def offer(self, row: Row) -> None:
        if self.now is not None and row["t"] < self.now:
            self.late += 1
            return
        self.rows.append(row)
        self.highest = row["t"] if self.highest is None else max(self.highest, row["t"])

    def update(self, key: str, value: Any, changes: Row) -> None:
        """UPDATE ... SET changes WHERE key = value."""
        self.rows = [{**row, **changes} if row[key] == value else row for row in self.rows]

    def delete(self, key: str, value: Any) -> None:
        self.rows = [row for row in self.rows if row[key] is None or row[key] != value]

    def advance(self, time: int) -> None:
        self.heartbeat = time if self.heartbeat is None else max(self.heartbeat, time)


@dataclass(frozen=True)
class Look:
    """What stood when the network was told to go on: the time of each stream, and the standard tables."""

    now: Mapping[str, int | None]
    standard: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Answer:
    """What a query sends at one instant, in decreasing time if it is a plain selection."""

    instant: int
    rows: list[Values]


@dataclass
class Course:
    """A query's answers, one for every instant, and how far time was complete for it at each look."""

    answers: list[Answer]
    complete: list[int | None]
    names: tuple[str, ...]


# -- a network ------------------------------------------------------------------------------------------------------


@dataclass
class Life:
    """A query as it is now, and what came of it. `frontier` is None until it begins. `held` is what it sent last, all of it: what
    somebody has who adds up insertions and subtracts deletions."""

    query: Query
    frontier: int | None = None
    paused: bool = False
    held: Counter[Values] = field(default_factory=Counter)
    course: Course = field(default_factory=lambda: Course([], [], ()))


class Judge:
    """Queries that come, change, pause and go on while rows come, change and go. A query follows those it reads.

    An instant is evaluated at the first look at which it is complete, over the rows and the standard tables as they are then. What
    was sent stays sent: ISTREAM and DSTREAM tell the difference to it, whatever has changed since.
    """

    def __init__(self, streams: Mapping[str, Stream], time: str = "t") -> None:
        self.streams = streams
        self.lives: dict[str, Life] = {}
        self._time = time
        self._histories = {name: s.history for name, s in streams.items() if s.history is not None}
        self._seen: dict[str, int | None] = {}  # how far the network has read a stream, while a query reads it

    # -- what happens to queries --

    def add(self, query: Query, start: int | None = None) -> None:
        self.let_go()
        self.lives[query.name] = Life(query, course=Course([], [], tuple(name for name, _ in query.select.columns)))
        self._begin(self.lives[query.name], start)

    def alter(self, query: Query) -> None:
        self.lives[query.name].query = query

    def pause(self, name: str) -> None:
        self.lives[name].paused = True
        self.let_go()

    def resume(self, name: str) -> None:
        life = self.lives[name]
        if life.paused:
            life.paused = False
            self._begin(life, None)

    def starts(self, query: Query) -> int | None:
        """Where time stands for a query: the least time of its inputs, those that have none left out."""
        known = [t for n in inputs(query.select) if (t := self._frontier(n)) is not None]
        return min(known, default=None)

    def _begin(self, life: Life, start: int | None) -> None:
        """Where time stands, or at `start`. If no row was before that, with the first there is: None."""
        for name in inputs(life.query.select):
            if name in self.streams:
                self._seen.setdefault(name, self.streams[name].now)
        begin = self.starts(life.query)
        if begin is not None and start is None and life.frontier is None:
            rows = [row for n in inputs(life.query.select) for row in self._rows_of(n)]
            emptied = [n for n in inputs(life.query.select) if n in self.streams and self.streams[n].is_emptied]
            if not emptied and not any(_time(row, self._time) < begin for row in rows):
                begin = None
        life.frontier = start if start is not None else begin

    def _frontier(self, name: str) -> int | None:
        return self._seen.get(name) if name in self.streams else self.lives[name].frontier

    def let_go(self) -> None:
        """Streams that no query reads any more are read from where they stand when one does again."""
        read = {n for life in self.lives.values() if not life.paused for n in inputs(life.query.select)}
        self._seen = {n: t for n, t in self._seen.items() if n in read}

    # -- what they send --

    def look(self, look: Look) -> None:
        """Time goes on: every instant that is complete now is evaluated."""
        self.let_go()
        for name in self._seen:
            now = look.now[name]
            self._seen[name] = self._seen[name] if now is None else now
        for life in self.lives.values():
            complete = None if life.paused else self._complete(life.query)
            life.course.complete.append(
                complete if life.frontier is None or complete is None else max(life.frontier, complete)
            )
            if complete is not None:
                self._go_on(life, complete, look)

    def _complete(self, query: Query) -> int | None:
        """How far all inputs are. A query that has not begun yet has the time of what it reads."""
        times = []
        for name in inputs(query.select):
            time = self._frontier(name)
            if time is None and name in self.lives and not self.lives[name].paused:
                time = self._complete(self.lives[name].query)
            times.append(time)
        return _least(times)

    def _go_on(self, life: Life, end: int, look: Look) -> None:
        query = life.query
        rows = {n: self._rows_of(n) for n in inputs(query.select)}
        times = sorted({_time(row, self._time) for found in rows.values() for row in found})
        begin = life.frontier
        if begin is None:
            begin = next((t for t in times if t < end), None)
        if begin is None or end <= begin:
            return
        for instant in _instants(query.slide, times, begin, end):
            for seen, arrived in _seen(query, inputs(query.select), rows, instant, self._time):
                around = _Instant(instant, seen, look.standard, self._time, arrived, self._histories)
                result = around.select(query.select, {})
                now = Counter(result)
                sent = {"istream": now - life.held, "dstream": life.held - now, "rstream": now}[query.form]
                answer = result if query.form == "rstream" else list(sent.elements())
                life.course.answers.append(Answer(instant, answer))
                life.held = now
        life.frontier = end

    def _rows_of(self, name: str) -> list[Row]:
        if name in self.streams:
            return self.streams[name].rows
        course = self.lives[name].course
        return [
            {**dict(zip(course.names, row, strict=True)), "instant": answer.instant}
            for answer in course.answers
            for row in answer.rows
        ]


def evaluate(
    queries: Sequence[Query], streams: Mapping[str, Stream], looks: Sequence[Look], *, time: str = "t"
) -> dict[str, Course]:
    """What each of the queries sends, had all been there from the start. A query follows those it reads."""
    judge = Judge({name: Stream() for name in streams}, time)
    for query in queries:
        judge.add(query)
    judge.streams = streams
    for look in looks:
        judge.look(look)
    return {name: life.course for name, life in judge.lives.items()}


def _seen(
    query: Query, names: Sequence[str], rows: Mapping[str, list[Row]], instant: int, time: str
) -> Iterator[tuple[Mapping[str, list[Row]], Row | None]]:
    """The rows that there are at an instant. If each row is one: what there is at each row of that time, and the row."""
    if not query.each_row:
        yield rows, None
        return
    (name,) = names
    known = [r for r in rows[name] if _time(r, time) < instant]
    for row in rows[name]:
        if _time(row, time) == instant:
            known = [*known, row]
            yield {name: known}, row


def _instants(slide: int | None, times: list[int], begin: int, end: int) -> Iterator[int]:
    """Those in [begin, end)."""
    if slide is None:
        yield from (t for t in times if begin <= t < end)
    else:
        yield from (t for t in range(begin, end) if t % slide == 0)


def _time(row: Row, column: str) -> int:
    """A streaming table has a time column of its own, a result is timed by its instants."""
    time: int = row["instant"] if "instant" in row else row[column]
    return time


def _least(times: Sequence[int | None]) -> int | None:
    known = [t for t in times if t is not None]
    return min(known) if len(known) == len(times) else None


def inputs(select: Select) -> list[str]:
    """The streams and results whose windows a query reads."""
    return sorted({s.table for s in _sources(select) if s.window is not None})


def _sources(select: Select) -> list[Source]:
    """All tables of a query, those of its subqueries too."""
    found = list(select.sources)
    places = [e for _, e in select.columns] + [select.where, select.having] + [s.on for s in select.sources]
    for place in places:
        for inner in _selects(place):
            found += _sources(inner)
    return found


def _selects(term: object) -> list[Select]:
    if isinstance(term, Select):
        return [term]
    return [s for part in term for s in _selects(part)] if isinstance(term, tuple) else []


# -- one instant ----------------------------------------------------------------------------------------------------


@dataclass
class _Around:
    """What an expression sees: a row of each table, the other rows of its result, those of its group."""

    row: Mapping[str, Row | None]
    peers: Sequence[Mapping[str, Row | None]] = ()
    group: Sequence[Mapping[str, Row | None]] | None = None


class _Instant:
    """A query's tables at an instant."""

    def __init__(
        self,
        instant: int,
        streams: Mapping[str, list[Row]],
        standard: Mapping[str, Sequence[Row]],
        time: str,
        arrived: Row | None = None,
        histories: Mapping[str, int] | None = None,
    ) -> None:
        self.histories = histories or {}
        self.arrived = arrived
        self.instant = instant
        self.streams = streams
        self.standard = standard
        self.time = time

    def content(self, source: Source) -> list[Row]:
        """The rows a source shows, in decreasing (time, arrival) if it is a window."""
        if source.window is None:
            return list(self.standard[source.table])
        kind = source.window[0]
        rows = [r for r in self.streams[source.table] if _time(r, self.time) <= self.instant]
        order = sorted(range(len(rows)), key=lambda i: (_time(rows[i], self.time), i), reverse=True)
        newest = [rows[i] for i in order]
        if kind in ("rows", "keyed") and source.table in self.histories:
            newest = self._within(newest, self.histories[source.table])
        if kind == "interval":
            return self._within(newest, source.window[1])
        if kind == "landmark":
            return self._within(newest, self.instant % source.window[1])
        if kind == "now":
            return self._within(newest, 0)[: None if self.arrived is None else 1]
        if kind == "rows":
            return newest[: source.window[1]]
        _, columns, count, within = source.window
        groups: dict[Values, list[tuple[int, Row]]] = {}
        for place, row in enumerate(newest):
            groups.setdefault(tuple(row[c] for c in columns), []).append((place, row))
        chosen: list[tuple[int, Row]] = []
        for members in groups.values():
            earlier: Row | None = None
            for place, row in reversed(members[:count]):
                if within is None or self._within([row], within):
                    earlier = {**row, BEFORE: earlier}
                    chosen.append((place, earlier))
        return [row for _, row in sorted(chosen, key=lambda pair: pair[0])]

    def _within(self, rows: list[Row], length: int) -> list[Row]:
        return [r for r in rows if _time(r, self.time) >= self.instant - length]

    def select(self, select: Select, outer: Mapping[str, Row | None]) -> list[Values]:
        joined: list[dict[str, Row | None]] = [dict(outer)]
        for source in select.sources:
            joined = self._join(joined, source)
        joined = [row for row in joined if self._holds(select.where, _Around(row))]
        results: list[Values]
        if select.group or any(_aggregates(e) for _, e in select.columns) or select.having is not None:
            results = []
            for members in self._groups(joined, select.group):
                around = _Around(members[0] if members else outer, group=members)
                if self._holds(select.having, around):
                    results.append(tuple(self.value(e, around) for _, e in select.columns))
        else:
            results = [tuple(self.value(e, _Around(row, joined)) for _, e in select.columns) for row in joined]
        return list(dict.fromkeys(results)) if select.distinct else results

    def _join(self, left: list[dict[str, Row | None]], source: Source) -> list[dict[str, Row | None]]:
        content = self.content(source)
        joined: list[dict[str, Row | None]] = []
        for row in left:
            pairs = [{**row, source.alias: other} for other in content]
            matching = [pair for pair in pairs if self._holds(source.on, _Around(pair))]
            if not matching and source.join == "left":
                matching = [{**row, source.alias: None}]
            joined += matching
        return joined

    def _groups(self, rows: list[dict[str, Row | None]], by: Sequence[Term]) -> list[list[dict[str, Row | None]]]:
        if not by:
            return [rows]
        groups: dict[Values, list[dict[str, Row | None]]] = {}
        for row in rows:
            groups.setdefault(tuple(self.value(e, _Around(row)) for e in by), []).append(row)
        return list(groups.values())

    def _holds(self, condition: Term | None, around: _Around) -> bool:
        return condition is None or self.truth(condition, around) is True

    # -- expressions ------------------------------------------------------------------------------------------------

    def value(self, term: Term, around: _Around) -> Any:
        kind = term[0]
        if kind == "lit":
            return term[1]
        if kind == "now":
            return self.instant
        if kind == "col":
            row = around.row.get(term[1])
            return None if row is None else row[term[2]]
        if kind == "prev":
            row = around.row[term[1]]
            for _ in range(term[3]):
                row = None if row is None else row[BEFORE]
            return None if row is None else row[term[2]]
        if kind in ("+", "-", "*"):
            a, b = self.value(term[1], around), self.value(term[2], around)
            return None if a is None or b is None else {"+": a + b, "-": a - b, "*": a * b}[kind]
        if kind == "case":
            return self.value(term[2] if self._holds(term[1], around) else term[3], around)
        if kind == "coalesce":
            first = self.value(term[1], around)
            return self.value(term[2], around) if first is None else first
        if kind == "scalar":
            rows = self.select(term[1], around.row)
            assert len(rows) <= 1
            return rows[0][0] if rows else None
        if kind in ("row_number", "rank"):
            return self._rank(term, around)
        return self._aggregate(term, around)

    def _rank(self, term: Term, around: _Around) -> int:
        """How many of its peers come before, and one. ROW_NUMBER is asked for total orders only. NULL is the least."""
        _, partition, order, descending = term

        def place(row: Mapping[str, Row | None]) -> tuple[Values, tuple[bool, Any]]:
            key = self.value(order, _Around(row))
            return tuple(self.value(e, _Around(row)) for e in partition), (key is not None, 0 if key is None else key)

        part, mine = place(around.row)
        others = [key for p, key in map(place, around.peers) if p == part]
        return 1 + sum(key > mine if descending else key < mine for key in others)

    def _aggregate(self, term: Term, around: _Around) -> Any:
        assert around.group is not None
        if term[0] == "count*":
            return len(around.group)
        every = [self.value(term[1], _Around(row)) for row in around.group]
        known = [v for v in every if v is not None]
        if term[0] == "count":
            return len(known)
        if term[0] == "distinct":
            return len(set(known))
        if term[0] == "avg":
            return sum(known) / len(known) if known else None
        tool: Callable[[list[Any]], Any] = {"sum": sum, "min": min, "max": max}[term[0]]
        return tool(known) if known else None

    # -- conditions -------------------------------------------------------------------------------------------------

    def _among_equals(self, term: Term, around: _Around) -> Term:
        """A comparison of a row's time with NOW(), where each row is an instant: by order of arrival among equal times."""
        kind, one, two = term
        column = two if one == ("now",) else one
        row = around.row.get(column[1]) if column[0] == "col" and column[2] == self.time else None
        if row is None:
            return term
        assert self.arrived is not None
        later = ("lit", self.instant + (row["id"] != self.arrived["id"]))
        return (kind, later, two) if one == ("now",) else (kind, one, later)

    def truth(self, term: Term, around: _Around) -> bool | None:
        """SQL's three-valued truth: None is unknown."""
        kind = term[0]
        if kind == "not":
            inner = self.truth(term[1], around)
            return None if inner is None else not inner
        if kind in ("and", "or"):
            both = [self.truth(term[1], around), self.truth(term[2], around)]
            decisive = kind == "or"
            return decisive if decisive in both else None if None in both else not decisive
        if kind == "exists":
            return bool(self.select(term[1], around.row))
        if self.arrived is not None and kind in _COMPARISONS and ("now",) in term[1:]:
            term = self._among_equals(term, around)
        value = self.value(term[1], around)
        if kind == "null":
            return value is None
        if kind == "in select":
            found = [row[0] for row in self.select(term[2], around.row)]
            if not found:
                return False
            if value is None:
                return None
            return True if value in found else None if None in found else False
        if kind == "in":
            return None if value is None else value in term[2]
        other = self.value(term[2], around)
        if value is None or other is None:
            return None
        return bool({"=": value == other, "<>": value != other, "<": value < other, "<=": value <= other,
                     ">": value > other, ">=": value >= other}[kind])  # fmt: skip


_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def _aggregates(term: object) -> bool:
    """Whether a term aggregates the rows of its own query."""
    if not isinstance(term, tuple) or not term:
        return False
    if term[0] in ("count*", "count", "sum", "avg", "min", "max", "distinct"):
        return True
    return any(_aggregates(part) for part in term[1:])
