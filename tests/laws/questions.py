"""Random continuous queries, and how they are said in SQL. `tests/laws/naive.py` has the grammar.

Drawn with a plain `Random`, whose queries are richer than those Hypothesis begins with; `tests/laws/running.py` makes a
failing case small. Only integers, so that equality is exact, and only total orders where order decides. Aliases are unlike each other all over
a query: `a`, `b` for streams, `d` for the standard table, `x` in subqueries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from tests.laws.naive import Query, Select, Source, Term, inputs

INTEGERS = ("id", "k", "g", "v")  # of the streams `r` and `s`
NUMBERS = ("k", "n", "x")  # of a view
STANDARD = ("k", "w")  # of the standard table `d`

COMPARISONS = ("=", "<>", "<>", "<", "<=", ">", ">=")
FORMS = ("rstream", "rstream", "istream", "istream", "dstream")
SLIDES = (None, None, 1, 2, 3, 5, 10)
LENGTHS = (0, 1, 2, 3, 4, 7, 15)
COUNTS = (1, 2, 3, 5)

LONG = 200  # longer than any window

Names = list[tuple[str, str]]  # (alias, column): the integers in reach
Backs = list[tuple[str, str, int]]  # (alias, table, rows): where PREV can be asked for


# -- SQL --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """How times are written: whole seconds, or halves of a second in TIMESTAMPs."""

    timestamps: bool

    def interval(self, units: int) -> str:
        return f"INTERVAL '{units * 500}' MILLISECOND" if self.timestamps else f"INTERVAL '{units}' SECOND"

    def moment(self, units: int) -> str:
        if not self.timestamps:
            return str(units)
        return f"'{datetime(1970, 1, 1) + units * timedelta(milliseconds=500)}'"

    def create(self, query: Query, start: int | None = None) -> str:
        kind = "CONTINUOUS QUERY" if query.history is None else "STREAMING VIEW"
        keep = "" if query.history is None else f" RANGE {self.interval(query.history)}"
        begin = "" if start is None else f" FROM {self.moment(start)}"
        return f"CREATE {kind} {query.name}{keep}{begin} AS {self.question(query)}"

    def question(self, query: Query) -> str:
        form = "" if query.form == "rstream" else f" {query.form.upper()}"
        arrival = "EACH ROW" if query.each_row else "REALTIME"
        sample = arrival if query.slide is None else self.interval(query.slide)
        return f"SELECT{form}{self.select(query.select)[6:]} SAMPLE {sample}"

    def window(self, window: Term) -> str:
        if window[0] == "interval":
            return f"[{self.interval(window[1])}]"
        if window[0] == "landmark":
            return f"[LANDMARK {self.interval(window[1])}]"
        if window[0] == "now":
            return "[NOW]"
        if window[0] == "rows":
            return f"[ROWS {window[1]}]"
        within = "" if window[3] is None else f" WITHIN {self.interval(window[3])}"
        return f"[{', '.join(window[1])} ROWS {window[2]}{within}]"

    def select(self, select: Select) -> str:
        text = "SELECT DISTINCT " if select.distinct else "SELECT "
        text += ", ".join(f"{self.term(e)} AS {name}" for name, e in select.columns)
        for number, source in enumerate(select.sources):
            text += f"{'' if number else ' FROM'}"
            if number:
                text += " LEFT JOIN" if source.join == "left" else " JOIN"
            text += f" {source.table}{'' if source.window is None else ' ' + self.window(source.window)} {source.alias}"
            if source.on is not None:
                text += f" ON {self.term(source.on)}"
        text += f" WHERE {self.term(select.where)}" if select.where is not None else ""
        text += f" GROUP BY {', '.join(self.term(e) for e in select.group)}" if select.group else ""
        return text + (f" HAVING {self.term(select.having)}" if select.having is not None else "")

    def term(self, term: Term) -> str:
        kind = term[0]
        if kind == "lit":
            return "NULL" if term[1] is None else str(term[1]) if term[1] >= 0 else f"({term[1]})"
        if kind == "now":
            return "NOW()"
        if kind == "col":
            return f"{term[1]}.{term[2]}"
        if kind == "prev":
            return f"PREV({term[1]}.{term[2]}{f', {term[3]}' if term[3] > 1 else ''})"
        if kind == "case":
            return f"CASE WHEN {self.term(term[1])} THEN {self.term(term[2])} ELSE {self.term(term[3])} END"
        if kind == "coalesce":
            return f"COALESCE({self.term(term[1])}, {self.term(term[2])})"
        if kind == "scalar":
            return f"({self.select(term[1])})"
        if kind in ("row_number", "rank"):
            by = f"PARTITION BY {', '.join(self.term(e) for e in term[1])} " if term[1] else ""
            return f"{kind.upper()}() OVER ({by}ORDER BY {self.term(term[2])}{' DESC' if term[3] else ''})"
        if kind == "count*":
            return "COUNT(*)"
        if kind == "distinct":
            return f"COUNT(DISTINCT {self.term(term[1])})"
        if kind in ("count", "sum", "min", "max", "avg"):
            return f"{kind.upper()}({self.term(term[1])})"
        if kind == "not":
            return f"(NOT {self.term(term[1])})"
        if kind == "null":
            return f"({self.term(term[1])} IS NULL)"
        if kind == "in":
            return f"({self.term(term[1])} IN ({', '.join(map(str, term[2]))}))"
        if kind == "in select":
            return f"({self.term(term[1])} IN ({self.select(term[2])}))"
        if kind == "exists":
            return f"EXISTS ({self.select(term[1])})"
        return f"({self.term(term[1])} {kind.upper()} {self.term(term[2])})"


# -- random queries ---------------------------------------------------------------------------------------------------


def columns_of(alias: str, table: str) -> Names:
    names = STANDARD if table == "d" else INTEGERS if table in ("r", "s") else NUMBERS
    return [(alias, name) for name in names]


def time_of(table: str) -> str:
    return "t" if table in ("r", "s") else "instant"


class Asker:
    """Draws queries. `standard`: they may read the standard table; `whole`: times are integers to calculate with."""

    def __init__(self, random: Random, *, standard: bool = True, whole: bool = True) -> None:
        self.random = random
        self.pick = random.choice
        self.standard = standard
        self.whole = whole

    def chance(self, of_ten: int) -> bool:
        return self.random.randrange(10) < of_ten

    def small(self) -> int:
        return self.random.randint(-2, 3)

    # -- windows ----------------------------------------------------------------------------------------------------

    def window(self, most: int | None = None) -> Term:
        """A window of a stream; of a view (which keeps `most`) one that does not hang on the order within an instant."""
        kind = self.pick(["interval", "interval", "interval", "landmark", "keyed", "keyed", "keyed", "now", "rows"])
        length = self.pick(LENGTHS) if most is None else min(self.pick(LENGTHS), most)
        if kind == "interval" or (kind == "landmark" and not length):
            return ("interval", length)
        if kind == "landmark":
            return ("landmark", length)
        if kind == "keyed":
            keys = [("k",)] if most is not None else [("k",), ("k",), ("g",), ("k", "g"), ("v",)]
            within = None if most is None and self.chance(5) else length
            return ("keyed", self.pick(keys), self.pick(COUNTS), within)
        return ("now",) if kind == "now" or most is not None else ("rows", self.pick(COUNTS))

    # -- expressions ------------------------------------------------------------------------------------------------

    def number(self, names: Names, backs: Backs, depth: int = 1) -> Term:
        """An integer expression over columns."""
        kinds = (
            ["col"] * 6
            + ["lit"]
            + (["op", "op", "case", "coalesce"] if depth else [])
            + (["prev"] * 4 if backs else [])
        )
        kind = self.pick(kinds)
        if kind == "prev":
            alias, table, rows = self.pick(backs)
            return ("prev", alias, self.pick(columns_of(alias, table))[1], self.random.randint(1, rows - 1))
        if kind == "lit":
            return ("lit", self.small())
        if kind == "col":
            return ("col", *self.pick(names))
        one, two = self.number(names, backs, depth - 1), self.number(names, backs, depth - 1)
        if kind == "op":
            return (self.pick("+-*"), one, two)
        return ("case", self.comparison(names, backs), one, two) if kind == "case" else ("coalesce", one, two)

    def comparison(self, names: Names, backs: Backs) -> Term:
        kind = self.pick(["compare", "compare", "compare", "compare", "in", "null"])
        left = self.number(names, backs, 1 if kind == "compare" else 0)
        if kind == "in":
            return ("in", left, tuple(self.small() for _ in range(self.random.randint(1, 3))))
        if kind == "null":
            return ("null", left) if self.chance(3) else ("not", ("null", left))
        return (self.pick(COMPARISONS), left, self.number(names, backs, 0))

    def condition(self, names: Names, backs: Backs, depth: int = 2) -> Term:
        kind = self.pick(["one", "one", "one", "and", "or", "not"]) if depth else "one"
        if kind == "one":
            return self.comparison(names, backs)
        if kind == "not":
            return ("not", self.condition(names, backs, depth - 1))
        return (kind, self.condition(names, backs, depth - 1), self.condition(names, backs, depth - 1))

    def arrival(self, table: str) -> Term:
        """A comparison of the time of `a` with the instant; most ask for the rows of the instant."""
        time, now = ("col", "a", time_of(table)), ("now",)
        kind = self.pick(["=", "=", "=", *COMPARISONS])
        return (kind, time, now) if self.chance(8) else (kind, now, time)

    def aggregate(self, names: Names, backs: Backs, times: Names) -> Term:
        kind = self.pick(["count*", "count", "sum", "min", "max", "distinct", *(["avg"] if times else [])])
        if kind == "count*":
            return ("count*",)
        if kind in ("min", "max") and times and self.chance(3):
            return (kind, ("col", *self.pick(times)))
        return (kind, self.number(names, backs))

    def subquery(self, outer: Names, kind: str) -> Term:
        """A condition (for "scalar", a value) that asks a window of its own, perhaps looking at the row around it."""
        table = self.pick(["r", "r", "s", "d" if self.standard else "r"])
        source = Source("x", table, None if table == "d" else self.window())
        inside = columns_of("x", table)
        where = self.comparison(inside, []) if kind == "exists" or self.chance(4) else None
        if kind != "in select" and self.chance(6):
            link: Term = ("=", ("col", "x", "k"), ("col", *self.pick(outer)))
            where = link if where is None else ("and", where, link)
        if kind == "scalar":
            value = (self.pick(["count", "sum", "min", "max"]), ("col", *self.pick(inside)))
            return ("scalar", Select((source,), (("y", value),), where))
        if kind == "exists":
            return ("exists", Select((source,), (("y", ("lit", 1)),), where))
        asked = ("col", *self.pick(outer))
        return ("in select", asked, Select((source,), (("y", ("col", *self.pick(inside))),), where))

    # -- whole queries ----------------------------------------------------------------------------------------------

    def sources(self, view: str | None, history: int) -> list[Source]:
        """One or two windows, or a window and the standard table."""
        first = view if view is not None else self.pick(["r", "r", "r", "s"])
        found = [Source("a", first, self.window(history if first == view else None))]
        if not self.chance(4):
            return found
        others = ["r", "r", "s"] + ["d"] * (2 * self.standard) + ([view, view] if view is not None else [])
        table = self.pick(others)
        alias = "d" if table == "d" else "b"
        window = None if table == "d" else self.window(history if table == view else None)
        on: Term = ("=", ("col", "a", "k"), ("col", alias, "k"))
        if self.chance(3):
            on = ("and", on, self.comparison(columns_of("a", first) + columns_of(alias, table), []))
        return [*found, Source(alias, table, window, self.pick(["inner", "inner", "left"]), on)]

    def select(self, view: str | None = None, history: int = 0, *, as_view: bool = False) -> Select:
        """`view` is read, and keeps `history`; `as_view` makes one of k, n, x with one row a k."""
        sources = self.sources(view, history)
        names = [n for s in sources for n in columns_of(s.alias, s.table)]
        times = [(s.alias, time_of(s.table)) for s in sources if s.window is not None]
        backs = [(s.alias, s.table, s.window[2]) for s in sources
                 if s.window is not None and s.window[0] == "keyed" and s.window[2] > 1]  # fmt: skip
        streams = [n for n in names if n[0] != "d"]
        where = self.condition(names, backs) if self.chance(4) else None
        if self.chance(2):
            asked = self.subquery(streams, self.pick(["in select", "exists"]))
            where = asked if where is None else ("and", where, asked)
        if self.chance(1):
            arrival = self.arrival(sources[0].table)
            where = arrival if where is None else ("and", where, arrival)
        if as_view:
            by: tuple[Term, ...] = (("col", "a", "k"),)
            columns = (("k", by[0]), ("n", self.aggregate(names, backs, [])), ("x", self.aggregate(names, backs, [])))
            return Select(tuple(sources), columns, where, by)
        kind = self.pick(["rows", "rows", "rows", "distinct", "rank", "scalar", "total", "groups", "groups"])
        if kind in ("total", "groups"):
            by = tuple(("col", *n) for n in self.random.sample(names, self.random.randint(1, 2)))
            by = by if kind == "groups" else ()
            items: list[Term] = [*by, *(self.aggregate(names, backs, times) for _ in range(self.random.randint(1, 3)))]
            if self.chance(3):
                items.append(("+", self.aggregate(names, backs, []), ("lit", self.small())))
            having = None
            if by and self.chance(4):
                having = (self.pick(COMPARISONS), self.aggregate(names, backs, []), ("lit", self.small()))
            return Select(tuple(sources), _named(items), where, by, having)
        items = [self.number(names, backs) for _ in range(self.random.randint(1, 3))]
        if self.chance(4):
            items.append(("col", *self.pick(times)))
        if self.chance(2):
            items.append(("now",))
        if self.whole and self.chance(2):
            items.append(("-", ("now",), ("col", *self.pick(times))))
        if kind == "rank":
            part = tuple(("col", *n) for n in self.random.sample(names, self.random.randint(0, 1)))
            items.append(("rank", part, ("col", *self.pick(names)), self.chance(5)))
            if len(sources) == 1 and sources[0].table in ("r", "s"):
                items.append(("row_number", part, ("col", "a", "id"), self.chance(5)))
        if kind == "scalar":
            items.append(self.subquery(streams, "scalar"))
        return Select(tuple(sources), _named(items), where, distinct=kind == "distinct")

    def filter(self) -> Query:
        """One of those that come by the hundred: a filter over the rows of the instant."""
        names = columns_of("a", "r")
        items = [self.number(names, []) for _ in range(self.random.randint(1, 3))]
        items += [("col", "a", "t")] if self.chance(5) else []
        source = Source("a", "r", ("now",) if self.chance(7) else ("interval", self.pick(LENGTHS)))
        select = Select((source,), _named(items), self.condition(names, []))
        return Query("f", select, self.pick(FORMS), self.pick([None, None, None, 2]))

    def crossing(self) -> Query:
        """And the other: what changed from one row of a key to the next."""
        count = self.pick([2, 2, 3, 5])
        table = self.pick(["r", "r", "s"])
        keys = self.pick([("k",), ("k",), ("k",), ("k", "g"), ("g",)])
        source = Source("a", table, ("keyed", keys, count, self.pick([None, None, None, *LENGTHS])))
        names, backs = columns_of("a", table), [("a", table, count)]
        column = self.pick(["v", "g", "id"])
        where: Term = (self.pick(COMPARISONS), ("col", "a", column), ("prev", "a", column, 1))
        if self.chance(3):
            where = self.condition(names, backs)
        if self.chance(3):
            where = ("and", self.arrival(table), where)
        items: list[Term] = [
            ("col", "a", "k"),
            ("prev", "a", column, 1),
            *(self.number(names, backs) for _ in range(self.random.randint(0, 2))),
        ]
        items += [("col", "a", "t")] if self.chance(7) else []
        select = Select((source,), _named(items), where, distinct=self.chance(1))
        return Query(
            "c", select, self.pick(["istream", "istream", "istream", *FORMS]), self.pick([None, None, None, 2, 5])
        )

    def network(self, most: int = 3) -> list[Query]:
        """A few queries; the first may be a view that others read."""
        queries: list[Query] = []
        view, history = None, 0
        if self.chance(4):
            view, history = "w", self.pick([1, 2, 5, LONG, LONG])
            form = self.pick(["rstream", "rstream", "istream"])
            queries.append(Query(view, self.select(as_view=True), form, self.pick(SLIDES), history))
        for number in range(self.random.randint(1, most)):
            over = view if self.chance(7) else None
            draw = self.random.random()
            if over is None and draw < 0.35:
                queries.append(replace(self.crossing() if draw < 0.25 else self.filter(), name=f"q{number}"))
                continue
            queries.append(Query(f"q{number}", self.select(over, history), self.pick(FORMS), self.pick(SLIDES)))
        return [self.row_by_row(query) if self.chance(5) else query for query in queries]

    def row_by_row(self, query: Query) -> Query:
        """At each row, if it is sampled in real time and rows of one table decide."""
        read = inputs(query.select)
        one_table = len(read) == 1 and read[0] in ("r", "s")
        return replace(query, each_row=True) if one_table and query.slide is None else query


def _named(items: list[Term]) -> tuple[tuple[str, Term], ...]:
    return tuple((f"c{i}", item) for i, item in enumerate(items))
