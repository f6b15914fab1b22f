"""What conditions say about the rows a query can use. A bound may only skip what the engine would filter out anyway."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings

from millpond.catalog import Catalog, StreamingTable
from millpond.errors import SqlError
from millpond.event_time import to_event_time
from millpond.predicate.form import Always, And, CompareColumns, Never, Not, Or, Predicate
from millpond.query.binding.bind import bind
from millpond.query.bounds import find_bounds, narrowed
from millpond.schema import Schema
from millpond.sql.parser import parse
from millpond.sql.statements import Select
from millpond.table.store import Bounds
from tests.unit.predicate.naive import PREDICATES, rows, truth

COLUMNS = [
    ("k", "INT"),
    ("name", "STRING"),
    ("day", "DATE"),
    ("x", "DOUBLE"),
    ("t", "BIGINT"),
    ("d", "DECIMAL(10,2)"),
    ("flag", "BOOLEAN"),
]
SECONDS = StreamingTable("s", Schema.of(COLUMNS), "t", "s", 1, lateness=timedelta(0))
MICROS = StreamingTable("m", Schema.of([("k", "INT"), ("at", "TIMESTAMP")]), "at", "m", 1)
CATALOG = Catalog().with_streaming(SECONDS).with_streaming(MICROS)
DAY = 1_767_225_600_000_000  # 2026-01-01


def bounds(text: str, now: int | None = 100) -> Bounds:
    (statement,) = parse(text)
    assert isinstance(statement, Select)
    bound = bind(statement.query, CATALOG, text)
    return find_bounds(bound, dict.fromkeys(bound.uses, now))["__r0"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("t >= 5 AND t < 10", Bounds(low=5, high=9)),
        ("t > 5 AND t <= 10", Bounds(low=6, high=10)),
        ("5 <= t AND -3 < t", Bounds(low=5)),
        ("t = 7", Bounds(low=7, high=7)),
        ("t IN (9, 3)", Bounds(low=3, high=9)),
        ("t BETWEEN 2 AND 4", Bounds(low=2, high=4)),
        ("VALID(s) OVERLAPS PERIOD(600, 1200)", Bounds(low=600, high=1199)),
        ("k = 3", Bounds(among={"k": frozenset([3])})),
        ("k IN (1, -2)", Bounds(among={"k": frozenset([1, -2])})),
        ("k = 1 AND k = 2", Bounds(among={"k": frozenset()})),
        ("k > 2 AND 8 >= k", Bounds(between={"k": (2, 8)})),
        ("name = 'a'", Bounds(among={"name": frozenset(["a"])})),
        ("day < DATE '2026-01-02'", Bounds(between={"day": (None, "2026-01-02")})),
        ("day = '2026-01-02'", Bounds(among={"day": frozenset(["2026-01-02"])})),
        ("k = CAST(3 AS BIGINT)", Bounds(among={"k": frozenset([3])})),
        ("name = CAST('a' AS STRING)", Bounds(among={"name": frozenset(["a"])})),
        ("k = 1 OR k IN (2, 3)", Bounds(among={"k": frozenset([1, 2, 3])})),
        ("(k = 1 AND x > 0) OR (k = 2 AND x < 0)", Bounds(among={"k": frozenset([1, 2])})),
        ("(k = 1 AND x > 0) OR k > 8", Bounds(between={"k": (1, None)})),
        ("(k = 1 OR k BETWEEN 4 AND 8) AND k < 6", Bounds(between={"k": (1, 6)})),
        ("(t = 5 AND k = 1) OR (t > 20 AND t < 30)", Bounds(low=5, high=29)),
        ("NOT (k < 2 OR k > 8)", Bounds(between={"k": (2, 8)})),
        ("name LIKE 'ab%'", Bounds(between={"name": ("ab", "ac")})),
        ("k BETWEEN 2 AND t", Bounds(between={"k": (2, None)})),
        ("t = 1 AND t = 2", Bounds(low=2**63 - 1, high=-(2**63))),
        # Nothing is known:
        ("k = 1 OR t = 2", Bounds()),
        ("k = 1 OR x = 2", Bounds()),
        ("name LIKE '%b'", Bounds()),
        ("k IS NOT NULL", Bounds()),
        ("NOT k = 1", Bounds()),
        ("k <> 1", Bounds()),
        ("k + 1 = 2", Bounds()),
        ("k < 2.5", Bounds()),
        ("k = '3'", Bounds()),
        ("x = 1.5", Bounds()),
        ("x < 1.5 AND x > 1", Bounds()),
        ("d < 1.5", Bounds()),
        ("d IN (1, 2.5)", Bounds()),
        ("flag AND NOT k < 3", Bounds(between={"k": (3, None)})),
        ("NOT flag", Bounds()),
        ("k = t", Bounds()),
        ("k IS NULL", Bounds()),
        ("k IN (1, NULL)", Bounds()),
        # A cast may make another value of a literal, so that other rows match than the literal says:
        ("name = CAST('42' AS INT)", Bounds()),
        ("day = CAST('2026-01-02 10:00:00' AS DATE)", Bounds()),
        ("k = CAST(1.5 AS INT)", Bounds()),
        ("k = CAST(300 AS TINYINT)", Bounds()),
    ],
)
def test_conditions(where: str, expected: Bounds) -> None:
    assert bounds(f"SELECT * FROM s WHERE {where}") == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("at >= '2026-01-01 00:00:01'", Bounds(low=DAY + 1_000_000)),
        ("at < TIMESTAMP '2026-01-02 00:00:00'", Bounds(high=DAY + 86_400_000_000 - 1)),
        ("at < DATE '2026-01-02'", Bounds(high=DAY + 86_400_000_000 - 1)),
        ("at = CAST('2026-01-01 10:00:00' AS DATE)", Bounds()),
        ("at >= '2026-01-01 01:00:00+01:00'", Bounds(low=DAY)),
        ("at >= TIMESTAMP_NTZ '2026-01-01 01:00:00+01:00'", Bounds()),  # there, Spark does not heed the zone
        ("at >= 5", Bounds()),
        ("at = 'noon'", Bounds()),
    ],
)
def test_timestamps(where: str, expected: Bounds) -> None:
    assert bounds(f"SELECT * FROM m WHERE {where}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM s [INTERVAL 30]", Bounds(low=70)),
        ("SELECT * FROM s [INTERVAL 30] WHERE k = 1", Bounds(low=70, among={"k": frozenset([1])})),
        ("SELECT * FROM s [NOW]", Bounds(low=100, high=100)),
        ("SELECT * FROM s [SINCE 40]", Bounds(low=40)),
        ("SELECT * FROM s [UNBOUNDED]", Bounds()),
        # Below [ROWS k] no condition may pass, below [cols ROWS k] only those on the columns:
        ("SELECT * FROM s [ROWS 3] WHERE k = 1 AND t > 50", Bounds(newest=3)),
        ("SELECT * FROM s [k ROWS 3] WHERE k = 1 AND t > 50 AND name = 'a'", Bounds(among={"k": frozenset([1])})),
        ("SELECT * FROM s [k ROWS 3 WITHIN INTERVAL 10] WHERE t > 95", Bounds(low=90)),
    ],
)
def test_windows(text: str, expected: Bounds) -> None:
    assert bounds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM s JOIN m ON s.k = m.k AND s.t = 5", Bounds(low=5, high=5)),
        ("SELECT * FROM s LEFT JOIN m ON s.k = m.k AND s.t = 5", Bounds()),
        ("SELECT * FROM s FULL JOIN m ON s.t = 5 WHERE s.k = 1", Bounds(among={"k": frozenset([1])})),
        ("SELECT * FROM (SELECT * FROM s) q WHERE q.t = 5", Bounds()),
        ("WITH q AS (SELECT * FROM s WHERE t = 5) SELECT * FROM q a JOIN q b ON a.k = b.k", Bounds(low=5, high=5)),
    ],
)
def test_joins_and_subqueries(text: str, expected: Bounds) -> None:
    assert bounds(text) == expected


USE = bind(parse("SELECT * FROM s")[0].query, CATALOG, "").uses["__r0"]  # type: ignore[attr-defined]
NAMES = {"whole": "k", "name": "name", "day": "day", "big": "t"}  # columns of samples as columns of `s`


@given(PREDICATES, rows())
@settings(max_examples=200, deadline=None)
def test_bounds_never_exclude_a_row_that_matches(predicate: Predicate, sample: list[dict[str, Any]]) -> None:
    found = narrowed(Bounds(), _renamed(predicate), USE)
    for row in sample:
        if truth(predicate, row) is True:
            assert _inside(found, {NAMES.get(c, c): v for c, v in row.items()})


def _renamed(predicate: Predicate) -> Predicate:
    match predicate:
        case And(parts) | Or(parts):
            return type(predicate)(tuple(map(_renamed, parts)))
        case Not(part):
            return Not(_renamed(part))
        case CompareColumns(left, operator, right, offset):
            return CompareColumns(NAMES.get(left, left), operator, NAMES.get(right, right), offset)
        case Always() | Never():
            return predicate
    return replace(predicate, column=NAMES.get(predicate.column, predicate.column))


def _inside(bounds: Bounds, row: dict[str, Any]) -> bool:
    """As the archive understands bounds, about a file with this row alone. Minima of a column without values are not kept."""
    kept = {c: v.isoformat() if isinstance(v, date) else v for c, v in row.items()}
    between = {"t": (bounds.low, bounds.high), **bounds.between}
    return all(kept[c] in values for c, values in bounds.among.items()) and all(
        kept[c] is not None and (low is None or kept[c] >= low) and (high is None or kept[c] <= high)
        for c, (low, high) in between.items()
        if low is not None or high is not None
    )


def test_no_now_no_bound() -> None:
    assert bounds("SELECT * FROM s [INTERVAL 30]", None) == Bounds()


@pytest.mark.parametrize(
    ("table", "value", "ticks"),
    [
        (SECONDS, 5, 5),
        (SECONDS, -5.0, -5),
        (SECONDS, "7", 7),
        (MICROS, "2026-01-01", DAY),
        (MICROS, "2026-01-01 01:00:00+01:00", DAY),
        (MICROS, 2, 2_000_000),
    ],
)
def test_times_as_users_give_them(table: StreamingTable, value: Any, ticks: int) -> None:
    assert to_event_time(value, table) == ticks


BIGINT = "Its time column is a BIGINT: -9223372036854775808 to 9223372036854775807."


@pytest.mark.parametrize(
    ("table", "value", "message"),
    [
        (SECONDS, 1.5, '1.5 is not a time of table "s"\nDetail: Its time column counts whole seconds.'),
        (SECONDS, None, 'None is not a time of table "s"\nDetail: Its time column counts whole seconds.'),
        (SECONDS, True, 'True is not a time of table "s"\nDetail: Its time column counts whole seconds.'),
        (SECONDS, float("inf"), 'inf is not a time of table "s"\nDetail: Its time column counts whole seconds.'),
        (SECONDS, 2**70, f'{2**70} is not a time of table "s"\nDetail: {BIGINT}'),
        (SECONDS, -(2**63) - 1, f'{-(2**63) - 1} is not a time of table "s"\nDetail: {BIGINT}'),
        (MICROS, 2**50, f'{2**50} is not a time of table "m"\nDetail: The years of a TIMESTAMP are 1 to 9999.'),
        (MICROS, "noon", "'noon' is not a time of table \"m\"\nHint: Write '2026-01-31 12:00:00'."),
        (MICROS, 1.5, "1.5 is not a time of table \"m\"\nHint: Write '2026-01-31 12:00:00'."),
    ],
)
def test_what_is_no_time(table: StreamingTable, value: Any, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        to_event_time(value, table)
    assert str(caught.value) == message
