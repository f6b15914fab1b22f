"""Statements of a grammar, for the fuzzer: what a pond's SQL has beyond Spark's, over the tables of the corpus.

Most are right, so that they get past the reader and are evaluated; some are wrong in a single place; the fuzzer cuts and mixes them
further.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

TABLES = {
    "posreports": (("vid", "spd", "seg", "t"), "t"),
    "readings": (("sensor", "value", "n", "flag", "amount", "day", "at"), "at"),
    "cars": (("vid", "spd", "seg", "t"), "t"),
    "sensors": (("sensor", "value", "n", "flag", "amount", "day", "at"), "at"),
}
"""Columns and time. The first two keep late rows, as the corpus has them; the others have the same rows in order."""
NAMES = (
    "sq",
    "sq",
    "sq",
    "sq2",
    "`a.b`",
    "`it's`",
    "`x\ny`",
    '"q"',
    "`../../out`",
    "`日本`",
    "cars",
    "7",
    "99999999999999999999",
)
QUERIES = ("cq", "cq2", "v", "w", "posreports", "sq")


class Forms:
    """Writes statements; the same for the same random numbers."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def statement(self) -> str:
        kinds: tuple[tuple[Callable[[], str], int], ...] = (
            (self.create_standing, 10), (self.ask_standing, 12), (self.create_continuous, 8), (self.about_continuous, 4),
            (self.once, 10), (self.create_table, 3), (self.alter_table, 3), (self.insert, 2), (self.system, 2),
            (self.about_reductions, 4),
        )  # fmt: skip
        return self._rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    # -- small parts ------------------------------------------------------------------------------------------------

    def _of(self, *texts: str) -> str:
        return self._rng.choice(texts)

    def _perhaps(self, text: str, chance: float = 0.5) -> str:
        return text if self._rng.random() < chance else ""

    def number(self) -> str:
        return self._of(
            "0", "1", "2", "3", "10", "60", "400", "-1", "2147483648", "9223372036854775807", "99999999999999999999"
        )

    def interval(self) -> str:
        unit = self._of("SECOND", "MINUTE", "MINUTE", "HOUR", "DAY", "DAY", "MONTH", "MICROSECOND")
        return self._of(
            f"INTERVAL '{self._of('1', '5', '10', '90', '1', '5', '0', '-3', '1.5', '99999999999')}' {unit}", "INTERVAL 3", "INTERVAL '1' MINUTE",
        )  # fmt: skip

    def slide(self) -> str:
        """Long ones: a tick evaluates each instant since the query's beginning, however many they are."""
        return self._of(
            "INTERVAL '1' DAY", "INTERVAL '1' HOUR", "INTERVAL '0' HOUR", "INTERVAL '-1' DAY", "INTERVAL '1' MONTH"
        )

    def start(self) -> str:
        """Where a continuous query begins: within the rows, or where it cannot."""
        return self._of("400", "'2024-02-28 10:00:00'", "'9999-12-31'", "'never'", "''")

    def length(self) -> str:
        """The size of a group window, as a text or an interval."""
        return self._of(
            "'10 minutes'", "'5 minutes'", "'1 hour'", "'1 day'", "'0 seconds'", "'1 month'", "''", self.interval()
        )

    def time(self) -> str:
        return self._of(
            self.number(), "'2024-02-28 10:00:00'", "'2024-03-01'", "TIMESTAMP '2024-02-29 00:00:00'", "'9999-12-31'", "'never'", "''",
        )  # fmt: skip

    def end(self) -> str:
        return self._of(
            "NOW", "NOW", f"NOW - {self.interval()}", f"NOW - {self.interval()}", f"NOW - {self.number()} ROWS", f"ROW {self.number()}", self.time(),
        )  # fmt: skip

    def span(self) -> str:
        return self._of(f"BEGIN {self.end()} END {self.end()}", f"BEGIN {self.end()}", f"END {self.end()}", "")

    def window(self, table: str) -> str:
        columns, _ = TABLES[table]
        key, k = self._rng.choice(columns), self._of("1", "2", "3", "100", "0", "10000000000")
        return self._of(
            "[NOW]", "[UNBOUNDED]", f"[{self.interval()}]", f"[{self.interval()} BEFORE NOW]", f"[ROWS {k}]", f"[{key} ROWS {k}]",
            f"[{key} ROWS {k} WITHIN {self.interval()}]", f"[LANDMARK {self._of('DAY', 'HOUR', 'MINUTE', self.interval())}]",
            f"[SINCE {self.time()}]", f"[{self.span()}]", "",
        )  # fmt: skip

    def group_window(self, table: str) -> tuple[str, str]:
        """What stands in FROM and what in GROUP BY, of a query of group windows."""
        _, time = TABLES[table]
        size, other = self.length(), self.length()
        grouped = self._of(
            f"window({time}, {size})", f"window({time}, {size}, {other})", f"window({time}, {size}, {other}, {self.length()})",
            f"session_window({time}, {size})", f"TUMBLE({time}, {size})", f"HOP({time}, {other}, {size})", f"SESSION({time}, {size})",
        )  # fmt: skip
        relation = self._of(
            f"TUMBLE(TABLE {table}, DESCRIPTOR({time}), {size})", f"HOP(TABLE {table}, DESCRIPTOR({time}), {other}, {size})",
            f"SESSION(TABLE {table} PARTITION BY {TABLES[table][0][0]}, DESCRIPTOR({time}), {size})",
            f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR({time}), {size}))", f"TUMBLE({table}, {time}, {size})",
            f"TUMBLE(DATA => TABLE {table}, TIMECOL => DESCRIPTOR({time}), SIZE => {size})",
        )  # fmt: skip
        if self._rng.random() < 0.5:
            return table, grouped
        return relation, self._of("window_start", "window_end", "window_start, window_end", "window_time")

    def value(self) -> str:
        return self._of(
            self.number(),
            "'a1'",
            "''",
            "NULL",
            "1.5",
            "'日本語'",
            "X'00'",
            "DATE '2024-03-01'",
            "NOW()",
            "true",
            "1E300",
        )

    def condition(self, table: str) -> str:
        def one() -> str:
            column, value = self._rng.choice(TABLES[table][0]), self.value()
            return self._of(
                f"{column} {self._of('=', '<', '<=', '>', '>=', '<>', '<=>', '!=')} {value}", f"{value} < {column}",
                f"{column} BETWEEN {value} AND {self.value()}", f"{column} IN ({value}, {self.value()}, {self.value()})",
                f"{column} IS {self._perhaps('NOT ')}NULL", f"{column} {self._perhaps('NOT ')}LIKE {self._of(repr('a%'), repr('%_'), repr('50' + chr(92) + '%'))}",
                f"{column} % 2 = {self._of('0', '1')}", f"{column} + 1 > {value}", f"abs({column}) < 50", f"{column} = PREV({column})",
                f"{column} RLIKE {self._of(repr('^a.*'), repr('('), repr('(a+)+$'))}", f"{column} IN (SELECT {column} FROM {table})",
            )  # fmt: skip

        parts = [one() for _ in range(self._rng.choice([1, 1, 2, 3]))]
        joined = f" {self._of('AND', 'OR', 'AND NOT')} ".join(parts)
        return self._of(joined, f"NOT ({joined})", f"({joined}) OR {one()}", joined)

    def select(self, window: Callable[[str], str], form: str = "") -> str:
        """A query over one stream or two, with such windows."""
        table = self._rng.choice(list(TABLES))
        columns, time = TABLES[table]
        a, b = self._rng.choice(columns), self._rng.choice(columns)
        where = self._perhaps(f" WHERE {self.condition(table)}", 0.7)
        here = f"{table} {window(table)}"
        kind = self._rng.randrange(9)
        if kind <= 2:
            return f"SELECT {form} {self._of(a, f'{a}, {b}', '*', f'{a} AS c, {time}', f'upper({a})', f'{a} + 1 AS s', '*, ' + time)} FROM {here}{where}{self._perhaps(f' ORDER BY {a}', 0.2)}{self._perhaps(' LIMIT 3', 0.2)}"
        if kind <= 5:
            aggregate = self._of(
                "COUNT(*)", f"SUM({a})", f"AVG({a})", f"MIN({a})", f"MAX({a}), COUNT(*)", f"COUNT(DISTINCT {a})", f"STDDEV({a})",
                f"FIRST({a})", f"COLLECT_LIST({a})", f"APPROX COUNT(DISTINCT {a})", f"MEDIAN({a})",
            )  # fmt: skip
            group = self._perhaps(f" GROUP BY {b}{self._perhaps(' HAVING COUNT(*) > 1', 0.3)}", 0.6)
            return f"SELECT {form} {b + ', ' if group else ''}{aggregate} FROM {here}{where}{group}"
        other = self._rng.choice(list(TABLES))
        if kind == 6:
            condition = self._of("a.vid = b.vid", f"a.{a} = b.{self._rng.choice(TABLES[other][0])}", "true")
            return f"SELECT {form} a.{a} AS x, b.{self._rng.choice(TABLES[other][0])} AS y FROM {table} {window(table)} a JOIN {other} {window(other)} b ON {condition}{self._perhaps(' LIMIT 5', 0.3)}"
        if kind == 7:
            relation, group = self.group_window(table)
            shown = self._of(
                "window.start, window.end, COUNT(*) AS n",
                f"{a}, COUNT(*)",
                "COUNT(*) AS n",
                "window_start, COUNT(*) AS n",
                "session_window.start, COUNT(*)",
                "*",
            )
            return f"SELECT {form} {shown} FROM {relation}{where} GROUP BY {group}{self._perhaps(', ' + a)}"
        return f"SELECT {form} {a} FROM ({self.select(window)}) AS n UNION ALL SELECT {a} FROM {here}{where}"

    # -- statements -------------------------------------------------------------------------------------------------

    def standing_query(self) -> str:
        return f"{self.select(self._window_or_none)} {self.span()}"

    def _window_or_none(self, table: str) -> str:
        return self._of("", "", "", f"[{self.span()}]", self.window(table))

    def create_standing(self) -> str:
        keep = self._perhaps(f" KEEP {self._of('AUTO', 'PARTIAL', 'COMPLETE', 'NOTHING', 'ALL')}")
        return f"CREATE STANDING QUERY {self._perhaps('IF NOT EXISTS ', 0.3)}{self._of(*NAMES)}{keep} AS {self.standing_query()}"

    def ask_standing(self) -> str:
        name = self._of("sq", "sq2", "1", "2", "3", *NAMES)
        return self._of(
            f"INVOKE {name}", f"INVOKE {name}", f"INVOKE {name} AS OF {self.time()}", f"EXPLAIN STANDING QUERY {name}",
            f"DROP STANDING QUERY {self._perhaps('IF EXISTS ')}{name}", "SHOW STANDING QUERIES", "SELECT * FROM millpond.standing_queries",
        )  # fmt: skip

    def create_continuous(self) -> str:
        form = self._of("", "", "ISTREAM", "DSTREAM", "RSTREAM")
        query = self.select(self.window, form)
        sample = self._of(f"SAMPLE {self.slide()}", "SAMPLE REALTIME", "SAMPLE EACH ROW", "", "EMIT ON WINDOW CLOSE")
        clauses = self._perhaps(f" RANGE {self._of('UNBOUNDED', self.interval())}", 0.3) + self._perhaps(
            f" FROM {self.start()}", 0.5
        )
        noun = self._of("CONTINUOUS QUERY", "STREAMING VIEW")
        return f"CREATE {noun} {self._perhaps('IF NOT EXISTS ', 0.2)}{self._of(*QUERIES)}{clauses} AS {query} {sample}"

    def about_continuous(self) -> str:
        name = self._of(*QUERIES)
        return self._of(
            f"DROP CONTINUOUS QUERY {name}", f"DROP STREAMING VIEW IF EXISTS {name}", f"PAUSE CONTINUOUS QUERY {name}",
            f"RESUME CONTINUOUS QUERY {name}", f"EXPLAIN CONTINUOUS QUERY {name}", "SHOW CONTINUOUS QUERIES", f"SELECT * FROM {name}",
            f"SELECT * FROM {name} {self.window('posreports')}", f"ALTER CONTINUOUS QUERY {name} SET RANGE {self.interval()}",
            f"ALTER CONTINUOUS QUERY {name} SET WINDOW OF cars = {self.window('posreports')}",
            f"ALTER CONTINUOUS QUERY {name} SET SAMPLE {self._of(self.slide(), 'REALTIME', 'EACH ROW')}",
            f"ON {name} DO NOTHING", f"ON {name} DO POST 'http://127.0.0.1:1/'",
        )  # fmt: skip

    def once(self) -> str:
        query = self.select((self._of(*("w", "n")) == "w" and self.window) or self._window_or_none)
        return self._perhaps("EXPLAIN ", 0.1) + query + self._perhaps(f" AS OF {self.time()}", 0.4)

    def about_reductions(self) -> str:
        name, every = self._of("by_time", "by_time2", "cars"), self._of(self.interval(), "INTERVAL 10")
        select = f"SELECT {self._of('seg, ', 'vid, ', '')}{self._of('COUNT(*)', 'AVG(spd)', 'MAX(vid), SUM(spd)', 'MEDIAN(spd)')} FROM cars"
        where = self._perhaps(f" WHERE {self._of(self.condition('cars'), f't >= {self.time()}', 'seg = 3')}", 0.5)
        group = self._of(
            "", " GROUP BY seg", " GROUP BY vid", " GROUP BY t DIV 10", " GROUP BY window(t, '10 seconds'), seg"
        )
        return self._of(
            f"CREATE REDUCTION {name} ON cars AS {select}{where}{group} EVERY {every}{self._perhaps(' LAZY')}",
            "CREATE REDUCTION IF NOT EXISTS by_time ON cars AS SELECT seg, AVG(spd) FROM cars GROUP BY seg EVERY INTERVAL 10 LAZY",
            f"{select} REDUCE USING {name}{where}{group}", f"{select} REDUCE USING {name}{where}{group}",
            f"EXPLAIN {select} REDUCE USING {name}{where}{group}", f"DROP REDUCTION {self._perhaps('IF EXISTS ')}{name}", "SHOW REDUCTIONS",
        )  # fmt: skip

    def create_table(self) -> str:
        clauses = [
            self._perhaps(f"TIMESTAMP BY {self._of('t', 'at', 'k')}", 0.8), self._perhaps(f"RANGE {self._of('UNBOUNDED', self.interval())}", 0.3),
            self._perhaps(f"LATENESS {self.interval()}", 0.3), self._perhaps(f"AHEAD {self._of('UNBOUNDED', self.interval())}", 0.5),
            self._perhaps(f"IDLE AFTER {self._of('UNBOUNDED', self.interval())}", 0.5), self._perhaps("SHARD BY k", 0.3),
        ]  # fmt: skip
        return f"CREATE STREAMING TABLE IF NOT EXISTS fresh (k INT, t BIGINT, at TIMESTAMP) {' '.join(filter(None, clauses))}"

    def alter_table(self) -> str:
        change = self._of(
            f"SET AHEAD {self._of('UNBOUNDED', self.interval())}", f"SET IDLE AFTER {self._of('UNBOUNDED', self.interval())}", "SET IDLE", "SET ACTIVE",
            f"SET NOW {self.time()}", f"SET RANGE {self._of('UNBOUNDED', self.interval())}", f"SET LATENESS {self.interval()}", "ADD COLUMN z INT",
            "RENAME TO elsewhere", "SET (late = 'reject')",
        )  # fmt: skip
        return f"ALTER STREAMING TABLE {self._of('fresh', 'fresh', 'fresh', 'cars')} {change}"

    def insert(self) -> str:
        return self._of(
            f"INSERT INTO fresh VALUES ({self.value()}, {self.value()}, {self.value()})", f"INSERT INTO cars (vid, t) VALUES (1, {self.number()})",
            "DELETE FROM cars WHERE vid = 101", "UPDATE cars SET spd = 1 WHERE vid = 102", "DROP STREAMING TABLE IF EXISTS fresh",
            f"INSERT INTO fresh (k, t) SELECT vid, t FROM posreports WHERE {self.condition('posreports')}",
        )  # fmt: skip

    def system(self) -> str:
        table = self._of(
            "queries",
            "tables",
            "ticks",
            "state",
            "feeds",
            "standing_queries",
            "settings",
            "columns",
            "costs",
            "pond",
            "triggers",
        )
        return self._of(
            f"SELECT * FROM millpond.{table}", "SHOW STATE", "SHOW SETTINGS", "SHOW TABLES", "SHOW REJECTED", "DESCRIBE posreports",
            "SELECT * FROM posreports_rejected", f"SELECT COUNT(*) FROM millpond.{table}, millpond.tables",
        )  # fmt: skip

    # -- values of parameters ---------------------------------------------------------------------------------------

    def parameter(self) -> Any:
        return self._rng.choice(
            [
                None, True, 0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**40, 1.5, float("nan"), float("inf"), 5e-324, "a1", "", "'; DROP TABLE posreports; --",
                "x\ny", "日本語", "\x00", "\ud800", "\\'", b"", b"\x00\xff", Decimal("1.50"), Decimal("NaN"), Decimal("1E+400"), date(2024, 3, 1), date(1, 1, 1),
                datetime(2024, 3, 1, 12), datetime(9999, 12, 31, tzinfo=UTC), [1], {"date": "2024-03-01"}, {"a": 1}, object(), (1, 2), {1},
            ]
        )  # fmt: skip

    def parameters(self, count: int) -> list[Any]:
        return [
            self.parameter() if self._rng.random() < 0.4 else self._rng.choice([1, 50, "a1", 100]) for _ in range(count)
        ]

    def with_marks(self) -> tuple[str, Any]:
        """A query with marks for values, and values, most of them of the right number."""
        table = self._rng.choice(list(TABLES))
        columns, _ = TABLES[table]
        count = self._rng.choice([1, 1, 2, 3])
        named = self._rng.random() < 0.2
        marks = [f":p{i}" if named else "?" for i in range(count)]
        where = " AND ".join(f"{self._rng.choice(columns)} {self._of('=', '<', '>=', '<>')} {mark}" for mark in marks)
        tail = self._of("", self.span(), f"GROUP BY {columns[0]}", f"AS OF {self._of('?', self.time())}", "LIMIT ?")
        text = f"SELECT {self._of(columns[0], '*', 'COUNT(*)')} FROM {table} {self._of('', '', self.window(table))} WHERE {where} {tail}"
        values = self.parameters(count + self._rng.choice([0, 0, 0, 0, 1, -1]) + ("?" in tail))
        if named:
            return text, {f"p{i}": value for i, value in enumerate(values)}
        return text, self._rng.choice([values, values, values, tuple(values), "ab", 7])
