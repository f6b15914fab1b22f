"""Standing queries made at random, and a judge that answers them row by row, in plain Python.

A pond with two streams and a standard table lives through random steps: rows come (some of them out of order), ticks, archiving,
restarts, UPDATE and DELETE; queries are registered, asked, asked as of earlier times, and dropped. Whatever happened before, an
answer must be the judge's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import millpond

Row = dict[str, Any]
Test = Callable[[Row], bool | None]
LATENESS = 5
KEEPS = ("auto", "partial", "complete", "nothing")
NAMES = ("ab", "abc", "b", "ba", "é", "", None)


@dataclass
class Stream:
    """A stream as the judge knows it."""

    name: str
    rows: list[Row] = field(default_factory=list)
    now: int | None = None
    next: int = 0

    def accept(self, rows: list[tuple[Any, ...]]) -> None:
        """Rows that come in one append, judged one by one."""
        for a, b, s, t in rows:
            if self.now is None or t >= self.now:
                self.rows.append({"a": a, "b": b, "s": s, "t": t, "_seq": self.next})
                self.next += 1
                self.now = t - LATENESS if self.now is None else max(self.now, t - LATENESS)


@dataclass(frozen=True)
class Window:
    text: str
    holds: Callable[[list[Row], int | None], list[Row]]


@dataclass(frozen=True)
class Asked:
    """A query: its text, and what it gives for the rows in the windows of its streams."""

    sql: str
    answer: Callable[[dict[str, list[Row]]], list[tuple[Any, ...]]]
    windows: dict[str, Window]
    ordered: bool = False
    tables: dict[str, str] = field(default_factory=dict)
    """Of windows that are not of the stream of their name."""

    def expected(self, streams: dict[str, Stream], as_of: int | None = None) -> list[tuple[Any, ...]]:
        inside = {}
        for name, window in self.windows.items():
            stream = streams[self.tables.get(name, name)]
            rows = [row for row in stream.rows if as_of is None or row["t"] <= as_of]
            inside[name] = window.holds(rows, stream.now if as_of is None else as_of)
        return self.answer(inside)


# -- windows ----------------------------------------------------------------------------------------------------------


def newest_first(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda r: (r["t"], r["_seq"]), reverse=True)


WINDOWS = ("sliding", "sliding", "past", "landmark", "snapshot", "open", "rows", "rows before", "all", "numbers")
SLIDING = ("sliding", "past", "open", "rows", "rows before")
"""Windows that leave old rows behind for good."""


def some_window(random: random.Random, now: int, kinds: tuple[str, ...] = WINDOWS) -> Window:
    kind = random.choice(kinds)
    back, more = random.randint(0, 40), random.randint(0, 20)
    begin = random.randint(max(0, now - 60), now + 5)
    if kind == "sliding":
        return Window(
            f"BEGIN NOW - INTERVAL '{back}' SECOND END NOW", lambda rows, n: _between(rows, n, n and n - back, n)
        )
    if kind == "past":
        text = f"BEGIN NOW - INTERVAL '{back + more}' SECOND END NOW - INTERVAL '{back}' SECOND"
        return Window(
            text, lambda rows, n: _between(rows, n, n is not None and n - back - more, n is not None and n - back)
        )
    if kind == "landmark":
        return Window(f"BEGIN {begin} END NOW", lambda rows, n: _between(rows, n, begin, n))
    if kind == "snapshot":
        return Window(f"BEGIN {begin} END {begin + more}", lambda rows, n: _times(rows, begin, begin + more))
    if kind == "open":
        return Window(
            f"BEGIN NOW - INTERVAL '{back}' SECOND", lambda rows, n: [] if n is None else _times(rows, n - back, None)
        )
    if kind == "rows":
        count = random.randint(1, 30)
        return Window(
            f"BEGIN NOW - {count} ROWS END NOW",
            lambda rows, n: [] if n is None else newest_first(_times(rows, None, n))[:count],
        )
    if kind == "rows before":
        count, skip = random.randint(6, 30), random.randint(1, 5)
        return Window(
            f"BEGIN NOW - {count} ROWS END NOW - {skip} ROWS",
            lambda rows, n: [] if n is None else newest_first(_times(rows, None, n))[skip:count],
        )
    if kind == "numbers":
        first, last = sorted((random.randint(0, 200), random.randint(0, 200)))
        return Window(
            f"BEGIN ROW {first} END ROW {last}", lambda rows, n: [r for r in rows if first <= r["_seq"] <= last]
        )
    return Window("END NOW", lambda rows, n: [] if n is None else _times(rows, None, n))


def _between(rows: list[Row], now: int | None, low: Any, high: Any) -> list[Row]:
    return [] if now is None else _times(rows, low, high)


def _times(rows: list[Row], low: int | None, high: int | None) -> list[Row]:
    return [r for r in rows if (low is None or r["t"] >= low) and (high is None or r["t"] <= high)]


# -- conditions, with NULLs as SQL has them ----------------------------------------------------------------------------

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y, "<>": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
}  # fmt: skip


def compared(x: Any, operator: str, y: Any) -> bool | None:
    return None if x is None or y is None else OPERATORS[operator](x, y)


def some_condition(random: random.Random, alias: str, depth: int = 2) -> tuple[str, Test]:
    kind = random.choice(
        ["number", "number", "range", "in", "text", "like", "null", "columns", "and", "or", "not"][
            : 8 if not depth else 11
        ]
    )
    column = random.choice("ab")
    value = random.randint(-1, 10)
    operator = random.choice(list(OPERATORS))
    at = f"{alias}."
    if kind == "number":
        return f"{at}{column} {operator} {value}", lambda r: compared(r[column], operator, value)
    if kind == "range":
        high = value + random.randint(-1, 5)
        return (
            f"{at}{column} BETWEEN {value} AND {high}",
            lambda r: None if r[column] is None else value <= r[column] <= high,
        )
    if kind == "in":
        values = random.sample(range(-1, 11), random.randint(1, 4))
        listed = ", ".join(map(str, values))
        return f"{at}{column} IN ({listed})", lambda r: None if r[column] is None else r[column] in values
    if kind == "text":
        text = random.choice([n for n in NAMES if n is not None])
        return f"{at}s {operator} '{text}'", lambda r: compared(r["s"], operator, text)
    if kind == "like":
        prefix = random.choice(["a", "ab", "b", "é"])
        return f"{at}s LIKE '{prefix}%'", lambda r: None if r["s"] is None else r["s"].startswith(prefix)
    if kind == "null":
        which = random.choice(["a", "s"])
        return f"{at}{which} IS NULL", lambda r: r[which] is None
    if kind == "columns":
        offset = random.randint(-3, 3)
        return f"{at}a {operator} {at}b + {offset}", lambda r: compared(
            r["a"], operator, None if r["b"] is None else r["b"] + offset
        )
    text, test = some_condition(random, alias, depth - 1)
    if kind == "not":
        return f"NOT ({text})", lambda r: None if (found := test(r)) is None else not found
    other_text, other = some_condition(random, alias, depth - 1)
    if kind == "and":
        return f"({text}) AND ({other_text})", lambda r: _and(test(r), other(r))
    return f"({text}) OR ({other_text})", lambda r: _or(test(r), other(r))


def _and(x: bool | None, y: bool | None) -> bool | None:
    return False if x is False or y is False else None if x is None or y is None else True


def _or(x: bool | None, y: bool | None) -> bool | None:
    return True if x or y else None if x is None or y is None else False


# -- queries ----------------------------------------------------------------------------------------------------------


def some_query(
    random: random.Random, now: int, owners: list[tuple[int, str]], windows: tuple[str, ...] = WINDOWS
) -> Asked:
    kind = random.choice(
        [
            "select",
            "select",
            "select",
            "computed",
            "distinct",
            "aggregate",
            "grouped",
            "join",
            "join",
            "standard",
            "limit",
            "three",
        ]
    )
    window = some_window(random, now, windows)
    text, test = some_condition(random, "r")
    if random.random() < 0.15:
        text, test = "TRUE", lambda r: True
    only = {"r": window}

    def matching(found: dict[str, list[Row]]) -> list[Row]:
        return [r for r in found["r"] if test(r) is True]

    where = f"FROM r WHERE {text} {window.text}"
    if kind == "select":
        return Asked(
            f"SELECT a, s, t {where}",
            lambda f: [(r["a"], r["s"], r["t"]) for r in newest_first(matching(f))],
            only,
            True,
        )
    if kind == "computed":
        return Asked(
            f"SELECT a + 1 AS x, s {where}",
            lambda f: [(None if r["a"] is None else r["a"] + 1, r["s"]) for r in matching(f)],
            only,
        )
    if kind == "distinct":
        return Asked(f"SELECT DISTINCT b {where}", lambda f: list({(r["b"],) for r in matching(f)}), only)
    if kind == "limit":
        return Asked(f"SELECT t, _seq FROM r WHERE {text} ORDER BY t, _seq LIMIT 3 {window.text}",
                     lambda f: [(r["t"], r["_seq"]) for r in newest_first(matching(f))[::-1][:3]], only, True)  # fmt: skip
    if kind == "aggregate":
        return Asked(f"SELECT COUNT(*) AS n, COUNT(a) AS c, SUM(a) AS s, MIN(a) AS l, MAX(a) AS h, AVG(a) AS m {where}",
                     lambda f: [aggregates(matching(f))], only)  # fmt: skip
    if kind == "grouped":

        def grouped(found: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
            rows = matching(found)
            return [(key, *aggregates([r for r in rows if r["b"] == key])) for key in {r["b"] for r in rows}]

        return Asked(
            f"SELECT b, COUNT(*) AS n, COUNT(a) AS c, SUM(a) AS s, MIN(a) AS l, MAX(a) AS h, AVG(a) AS m FROM r WHERE {text} "
            f"GROUP BY b {window.text}", grouped, only)  # fmt: skip
    if kind == "standard":

        def with_owners(found: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
            return [(r["t"], owner) for r in matching(found) for key, owner in owners if r["a"] == key]

        return Asked(
            f"SELECT r.t, o.owner FROM r JOIN owners o ON r.a = o.a WHERE {text} {window.text}", with_owners, only
        )
    other_text, other = some_condition(random, "q")
    other_window = some_window(random, now, windows)
    operator, offset = random.choice(["=", "=", "<", ">=", "<>"]), random.randint(-2, 2)
    if kind == "three":  # two of them are the same table
        last = some_window(random, now, windows)

        def chained(found: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
            pairs = [(x, y) for x in matching(found) for y in found["q"]
                     if compared(x["a"], operator, None if y["b"] is None else y["b"] + offset)]  # fmt: skip
            return [
                (x["t"], y["a"], z["t"], z["s"]) for x, y in pairs for z in found["z"] if compared(y["a"], "=", z["b"])
            ]

        return Asked(
            f"SELECT r.t, q.a, z.t AS zt, z.s FROM r [{window.text}] JOIN q [{other_window.text}] ON r.a {operator} q.b + {offset} "
            f"JOIN r [{last.text}] AS z ON z.b = q.a WHERE {text}",
            chained,
            {"r": window, "q": other_window, "z": last},
            tables={"z": "r"},
        )
    if random.random() < 0.5:
        other_window = window

    texts = random.random() < 0.3

    def joined(found: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
        left, right = matching(found), [r for r in found["q"] if other(r) is True]
        return [(x["t"], x["a"], y["t"], y["b"]) for x in left for y in right
                if (compared(x["s"], operator, y["s"]) if texts else
                    compared(x["a"], operator, None if y["b"] is None else y["b"] + offset))]  # fmt: skip

    select = "SELECT r.t AS rt, r.a, q.t AS qt, q.b FROM r"
    factor = f"r.s {operator} q.s" if texts else f"r.a {operator} q.b + {offset}"
    where = f"WHERE {factor} AND ({text}) AND ({other_text})"
    return Asked(
        f"{select}, q {where} {window.text}"
        if other_window is window
        else f"{select} [{window.text}], q [{other_window.text}] {where}",
        joined,
        {"r": window, "q": other_window},
    )


def aggregates(rows: list[Row]) -> tuple[Any, ...]:
    values = [r["a"] for r in rows if r["a"] is not None]
    mean = sum(values) / len(values) if values else None
    total = sum(values) if values else None
    return len(rows), len(values), total, min(values, default=None), max(values, default=None), mean


# -- a life -----------------------------------------------------------------------------------------------------------


class Life:
    """A pond that lives through random steps; every answer is compared with the judge's."""

    def __init__(self, folder: Path, seed: int, windows: tuple[str, ...] = WINDOWS) -> None:
        self.random = random.Random(seed)
        self.windows = windows
        self.seed = seed
        self.folder = folder
        self.streams = {"r": Stream("r"), "q": Stream("q")}
        self.owners = [(i, f"o{i}") for i in range(0, 10, 2)]
        self.time = 100
        self.asked: dict[int, Asked] = {}
        self.log: list[str] = [f"seed {seed}"]
        self.open()
        for name in self.streams:
            self.db.sql(
                f"CREATE STREAMING TABLE {name} (a INT, b INT, s STRING, t BIGINT) TIMESTAMP BY t "
                f"LATENESS INTERVAL '{LATENESS}' SECOND"
            )
        self.db.sql("CREATE STANDARD TABLE owners (a INT, owner STRING)")
        self.db.append("owners", self.owners)

    def open(self) -> None:
        memory = (1 << 30, 40_000, 8_000)[self.seed % 3]  # enough; old rows are thinned; queries are swapped out
        self.db = millpond.connect(
            self.folder, auto_archive=False, shards=2, segment_bytes=20_000, standing_memory=memory
        )

    def run(self, steps: int) -> None:
        for _ in range(steps):
            step = self.random.choice(
                [self.append] * 6 + [self.register] * 3 + [self.ask] * 5 + [self.ask_as_of, self.tick, self.tick, self.archive]
                + [self.drop, self.reopen, self.change, self.advance, self.changes]
            )  # fmt: skip
            step()
        for number in list(self.asked):
            self.check(number)

    def append(self) -> None:
        name = self.random.choice(list(self.streams))
        rows = []
        for _ in range(self.random.choice([1, 3, 20])):
            self.time += self.random.choice([0, 0, 1, 1, 2, 5])
            late = self.random.choice([0, 0, 0, 1, 3, 7])
            value = [None if self.random.random() < 0.1 else self.random.randint(0, 9) for _ in range(2)]
            rows.append((*value, self.random.choice(NAMES), self.time - late))
        self.log.append(f"append {name} {rows}")
        self.db.append(name, rows)
        self.streams[name].accept(rows)

    def advance(self) -> None:
        stream = self.random.choice(list(self.streams.values()))
        if stream.now is not None:
            stream.now += self.random.randint(0, 10)
            self.time = max(self.time, stream.now)
            self.log.append(f"advance {stream.name} {stream.now}")
            self.db.advance(stream.name, stream.now)

    def register(self) -> None:
        asked = some_query(self.random, self.time, self.owners, self.windows)
        keep = self.random.choice(KEEPS)
        self.log.append(f"register {keep} {asked.sql}")
        handle = self.db.register(asked.sql, keep=keep)
        self.log.append(f"  = {handle.id}")
        self.asked[handle.id] = asked

    def ask(self) -> None:
        if self.asked:
            self.check(self.random.choice(list(self.asked)))

    def ask_as_of(self) -> None:
        times = [stream.now for stream in self.streams.values() if stream.now is not None]
        if self.asked and len(times) == 2:
            self.check(self.random.choice(list(self.asked)), min(times) - self.random.randint(0, 30))

    def check(self, number: int, as_of: int | None = None) -> None:
        asked = self.asked[number]
        answer = self.db.registered(number).invoke(as_of=as_of)
        found, expected = answer.rows(), asked.expected(self.streams, as_of)
        self.log.append(f"ask {number} as of {as_of}: {answer.way}")
        same = found == expected if asked.ordered else Counter(found) == Counter(expected)
        assert same, "\n".join(
            [*self.log, asked.sql, f"way: {answer.way}", f"found    {found}", f"expected {expected}"]
        )

    def changes(self) -> None:
        """What came and went since an earlier visit, added to what was there then, is what is there now."""
        if not self.asked:
            return
        number = self.random.choice(list(self.asked))
        handle = self.db.registered(number)
        before = handle.invoke()
        self.log.append(f"changes {number}")
        self.append()
        told = Counter()
        for sign, *row in handle.changes().rows():
            told[tuple(row)] += 1 if sign == "+" else -1
        now = Counter(before.rows())
        now.update(told)
        expected = Counter(self.asked[number].expected(self.streams))
        assert +now == expected, "\n".join(
            [*self.log, self.asked[number].sql, f"changes {told}", f"expected {expected}"]
        )

    def drop(self) -> None:
        if self.asked:
            number = self.random.choice(list(self.asked))
            self.log.append(f"drop {number}")
            self.db.registered(number).drop()
            del self.asked[number]

    def tick(self) -> None:
        self.log.append("tick")
        self.db.tick()

    def archive(self) -> None:
        self.log.append("archive")
        self.db.archive()

    def reopen(self) -> None:
        self.log.append("reopen")
        self.db.close()
        self.open()

    def change(self) -> None:
        value = self.random.randint(0, 9)
        stream = self.streams["r"]
        if self.random.random() < 0.5:
            self.log.append(f"update {value}")
            self.db.sql(f"UPDATE r SET a = a + 1 WHERE b = {value}")
            for row in stream.rows:
                if row["b"] == value and row["a"] is not None:
                    row["a"] += 1
        else:
            self.log.append(f"delete {value}")
            self.db.sql(f"DELETE FROM r WHERE b = {value} AND a = 3")
            stream.rows = [r for r in stream.rows if not (r["b"] == value and r["a"] == 3)]

    def close(self) -> None:
        self.db.close()
