"""Tables in PostgreSQL, against a real server: what is read is what was written, and bounds lose no row."""

from __future__ import annotations

import math
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from millpond.arrow import arrow_schema
from millpond.errors import CatalogError, EngineError, IntakeError, MillpondError, UnknownName
from millpond.foreign_tables import postgres as pg
from millpond.foreign_tables.postgres import connection
from millpond.foreign_tables.postgres import rows as pg_rows
from millpond.foreign_tables.postgres import values as pg_values
from millpond.schema import Schema
from millpond.table.store import Bounds
from tests import postgres as helper
from tests.postgres import running_postgres

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

NO_BOUNDS = Bounds()
TEXTS = [
    "",
    " ",
    "NULL",
    "\\N",
    "\\.",
    "a\n\\.\nb",
    '"',
    '""',
    "it's",
    "a,b;c\td",
    "line\nbreak",
    "line\r\nbreak\r",
    "\\",
    "back\\slash\\n\\t",
    "%s %(x)s %%",
    "Grüße, мир, 世界, 🦆, e\u0301",
    "\u0001\u007f\ufeff",
    "x" * 100_000,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgres(tmp_path_factory.mktemp("postgres"), {"fsync": "off"}) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def scratch(server: str) -> str:
    run(server, "CREATE DATABASE scratch")
    return server.removesuffix("postgres") + "scratch"


@pytest.fixture
def dsn(scratch: str) -> str:
    """A database that is empty when a test begins. Emptied, because making one takes longer than most tests."""
    with psycopg.connect(scratch, autocommit=True) as connection:
        for (name,) in connection.execute(
            "SELECT quote_ident(nspname) FROM pg_namespace WHERE oid >= 16384"
        ).fetchall():
            connection.execute(f"DROP SCHEMA {name} CASCADE")
        connection.execute("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")
        connection.execute("GRANT USAGE ON SCHEMA public TO public")
    return scratch


def run(dsn: str, *statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def read(dsn: str, table: str, *columns: str, bounds: Bounds = NO_BOUNDS) -> pa.Table:
    schema = pg.describe(dsn, table)
    rows = pg.fetch(dsn, table, columns or schema.names, schema, bounds)
    wanted = schema if not columns else Schema(tuple(schema.find(c, table) for c in columns))
    assert rows.schema.equals(arrow_schema(wanted))
    rows.validate(full=True)
    return rows


def values(rows: pa.Table) -> list[Any]:
    """The values of a table with one column."""
    assert rows.num_columns == 1
    found: list[Any] = rows.column(0).to_pylist()
    return found


# -- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("smallint", "SMALLINT"),
        ("integer", "INT"),
        ("bigint", "BIGINT"),
        ("bigserial", "BIGINT"),
        ("boolean", "BOOLEAN"),
        ("real", "FLOAT"),
        ("double precision", "DOUBLE"),
        ("numeric", "DECIMAL(38,10)"),
        ("numeric(10,2)", "DECIMAL(10,2)"),
        ("numeric(38,38)", "DECIMAL(38,38)"),
        ("numeric(5)", "DECIMAL(5,0)"),
        ("numeric(3,-2)", "DECIMAL(5,0)"),
        ("numeric(2,4)", "DECIMAL(4,4)"),
        ("numeric(39,2)", "STRING"),
        ("text", "STRING"),
        ("varchar(10)", "STRING"),
        ("char(4)", "STRING"),
        ("uuid", "STRING"),
        ("json", "STRING"),
        ("jsonb", "STRING"),
        ("interval", "STRING"),
        ("integer[]", "STRING"),
        ("inet", "STRING"),
        ("date", "DATE"),
        ("timestamp", "TIMESTAMP"),
        ("timestamp(0)", "TIMESTAMP"),
        ("timestamptz", "TIMESTAMP"),
        ("bytea", "BINARY"),
        ("price", "DECIMAL(8,3)"),
        ("low_price", "DECIMAL(8,3)"),
        ("mood", "STRING"),
        ("pond.date", "STRING"),
    ],
)
def test_a_type_has_its_counterpart(dsn: str, declared: str, expected: str) -> None:
    run(
        dsn,
        "CREATE DOMAIN price AS numeric(8,3)",
        "CREATE DOMAIN low_price AS price CHECK (value < 10)",
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE SCHEMA pond; CREATE TYPE pond.date AS (a int, b text)",
        f"CREATE TABLE t (x {declared})",
    )
    assert [str(c.type) for c in pg.describe(dsn, "t")] == [expected]


TIMES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=UTC),
    datetime(2024, 3, 31, 1, 30, 0, 500_000, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
]
ROUND_TRIPS: list[tuple[str, pa.DataType, list[Any]]] = [
    ("smallint", pa.int16(), [0, -1, 2**15 - 1, -(2**15)]),
    ("integer", pa.int32(), [0, -1, 2**31 - 1, -(2**31)]),
    ("bigint", pa.int64(), [0, -1, 2**63 - 1, -(2**63), 2**53 + 1]),
    ("boolean", pa.bool_(), [True, False]),
    ("real", pa.float32(), [0.0, -1.5, 3.4028234663852886e38, 1.401298464324817e-45, math.inf, -math.inf]),
    ("double precision", pa.float64(), [0.1, 1 / 3, -1e308, 5e-324, 1.7976931348623157e308, math.inf, -math.inf]),
    ("numeric(38,0)", pa.decimal128(38, 0), [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(0)]),
    ("numeric(38,38)", pa.decimal128(38, 38), [Decimal("0." + "9" * 38), Decimal("-1E-38"), Decimal(0)]),
    ("numeric(10,2)", pa.decimal128(10, 2), [Decimal("0.10"), Decimal("-99999999.99"), Decimal("0.01")]),
    ("numeric", pa.decimal128(38, 10), [Decimal("0.0000000001"), Decimal("-9" * 1 + "9" * 27 + ".9999999999")]),
    ("numeric(3,-2)", pa.decimal128(5, 0), [Decimal(12300), Decimal(-99900)]),
    ("text", pa.string(), TEXTS),
    ("varchar", pa.string(), TEXTS),
    ("jsonb", pa.string(), ['{"a": [1, null, "\\"x\\\\y\\n"]}', "null", '""']),
    ("uuid", pa.string(), [str(uuid.UUID(int=0)), str(uuid.UUID(int=2**128 - 1))]),
    ("interval", pa.string(), ["1 day 02:03:04.000005"]),
    ("text[]", pa.string(), ['{a,"b c",NULL}', "{}"]),
    ("date", pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
    ("timestamp", pa.timestamp("us", tz="UTC"), TIMES),
    ("timestamptz", pa.timestamp("us", tz="UTC"), TIMES),
    ("bytea", pa.binary(), [b"", b"\0", b"\\x", bytes(range(256)), b"\n,\"'" * 1000]),
]


@pytest.mark.parametrize(("declared", "kind", "given"), ROUND_TRIPS, ids=[r[0] for r in ROUND_TRIPS])
@pytest.mark.parametrize("others", ["alone", "beside others"])
def test_values_come_back_as_they_went(
    dsn: str, declared: str, kind: pa.DataType, given: list[Any], others: str
) -> None:
    """NULLs first, last and between, because each is a place where a reader of CSV may go wrong."""
    run(dsn, f"CREATE TABLE t (x {declared}, n int, s text)", "SET TIME ZONE 'Asia/Tokyo'")
    given = [None, *[v for pair in zip(given, [None] * len(given), strict=True) for v in pair], *given, None]
    columns = {"x": pa.array(given, kind)}
    if others == "beside others":
        columns |= {"n": pa.array(range(len(given)), pa.int32()), "s": pa.array([None, ""] * len(given))[: len(given)]}
    rows = pa.table(columns)
    assert pg.insert(dsn, "t", rows) == len(given)
    back = read(dsn, "t", *columns)
    assert back.column("x").type == kind
    assert back.to_pydict() == rows.to_pydict()
    with psycopg.connect(dsn) as connection:  # and PostgreSQL itself holds them, not only we on the way back
        texts = connection.execute("SELECT x::text FROM t").fetchall()
        casts = [connection.execute(f"SELECT %s::text::{declared}::text", [_text(v)]).fetchone() for v in given]
    assert texts == casts


def _text(value: Any) -> str | None:
    return "\\x" + value.hex() if isinstance(value, bytes) else None if value is None else str(value)


def test_nan_comes_back(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a real, b double precision)")
    pg.insert(dsn, "t", pa.table({"a": pa.array([math.nan], pa.float32()), "b": [math.nan]}))
    row = read(dsn, "t").to_pylist()[0]
    assert math.isnan(row["a"])
    assert math.isnan(row["b"])


def test_times_do_not_depend_on_the_time_zone_of_the_user(dsn: str) -> None:
    run(
        dsn,
        "ALTER ROLE millpond SET timezone = 'America/New_York'",
        "ALTER ROLE millpond SET datestyle = 'German'",
        "ALTER ROLE millpond SET extra_float_digits = -5",
        "CREATE TABLE t (a timestamp, b timestamptz, d date, f double precision)",
        "INSERT INTO t VALUES ('2024-07-01 12:00:00', '2024-07-01 12:00:00.25+02', '2024-07-01', 0.1 + 0.2::float8)",
    )
    try:
        assert read(dsn, "t").to_pylist() == [
            {
                "a": datetime(2024, 7, 1, 12, tzinfo=UTC),
                "b": datetime(2024, 7, 1, 10, 0, 0, 250_000, tzinfo=UTC),
                "d": date(2024, 7, 1),
                "f": 0.1 + 0.2,
            }
        ]
    finally:
        run(dsn, "ALTER ROLE millpond RESET ALL")


def test_numeric_without_precision_is_rounded_to_ten_places(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (x numeric)", "INSERT INTO t VALUES (1.00000000015), (-2), (3e3)")
    assert values(read(dsn, "t")) == [Decimal("1.0000000002"), Decimal(-2), Decimal(3000)]


def test_char_comes_without_its_filling(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (x char(5))", "INSERT INTO t VALUES ('ab'), (''), (NULL), ('a b')")
    assert values(read(dsn, "t")) == ["ab", "", None, "a b"]
    assert values(read(dsn, "t", bounds=Bounds(among={"x": frozenset(["ab"])}))) == ["ab"]


def test_a_value_longer_than_a_block_and_rows_beyond_a_chunk(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pg_rows, "CHUNK", 50_000)
    run(
        dsn,
        "CREATE TABLE t (id int, x text)",
        "INSERT INTO t SELECT i, repeat('v', 200) || i FROM generate_series(1, 20000) i",
        f"INSERT INTO t VALUES (20001, repeat(E'é\\n', {2 * pg_values.BLOCK}))",
        "INSERT INTO t VALUES (20002, 'after')",
    )
    rows = read(dsn, "t")
    assert rows.column("x").num_chunks > 3
    assert rows.column("id").to_pylist() == list(range(1, 20_003))
    long = ["v" * 200 + str(i) for i in range(1, 20_001)]
    assert rows.column("x").to_pylist() == [*long, "é\n" * 2 * pg_values.BLOCK, "after"]


@pytest.mark.parametrize(
    ("declared", "value", "detail"),
    [
        ("numeric(10,2)", "'NaN'", "The string 'NaN' is not a valid decimal128 number."),
        ("numeric", "1e30", "Numeric field overflow"),
        ("timestamp", "'infinity'", "infinity"),
        ("date", "'0044-03-15 BC'", "0044-03-15 BC"),
        ("timestamptz", "'20000-01-01'", "20000-01-01"),
    ],
)
def test_a_value_without_an_equal_is_an_error_and_not_another_value(
    dsn: str, declared: str, value: str, detail: str
) -> None:
    run(dsn, f"CREATE TABLE t (id int, x {declared})", f"INSERT INTO t VALUES (1, {value})")
    with pytest.raises(EngineError) as caught:
        read(dsn, "t")
    assert caught.value.primary in (
        'column "x" of PostgreSQL table "t" holds a value millpond has no equal for',
        'PostgreSQL could not read table "t"',
    )
    assert detail in (caught.value.detail or "")
    assert values(read(dsn, "t", "id")) == [1]


# -- tables and columns -----------------------------------------------------------------------------------------------


def test_only_the_asked_columns_in_the_asked_order(dsn: str) -> None:
    run(dsn, 'CREATE TABLE t (a int, "B c" text, "d""e" int)', "INSERT INTO t VALUES (1, 'x', 3)")
    assert read(dsn, "t", 'd"e', "A").to_pylist() == [{'d"e': 3, "a": 1}]
    assert read(dsn, "t", "b C").to_pylist() == [{"B c": "x"}]
    assert read(dsn, "t").num_columns == 3


def test_no_columns_still_count_rows(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int)", "INSERT INTO t SELECT generate_series(1, 7)")
    schema = pg.describe(dsn, "t")
    assert pg.fetch(dsn, "t", [], schema, NO_BOUNDS).num_rows == 7
    assert pg.fetch(dsn, "t", [], schema, Bounds(between={"a": (3, None)})).num_rows == 5


def test_an_empty_table_has_its_types(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int, b bytea, c timestamp, d text)")
    assert read(dsn, "t").num_rows == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("PLAIN", "plain"),
        ("public.plain", "plain"),
        ("Public.Plain", "plain"),
        ("other.plain", "other"),
        ("Mixed", "mixed case"),
        ('"Mixed"', "mixed case"),
        ('"mixed"', "lower case"),
        ("mixed", "lower case"),
        ('"Other".Plain', "upper schema"),
        ('other."dotted.name"', "dotted"),
        (" other . plain ", "other"),
        ("a_view", "plain"),
    ],
)
def test_names_of_tables(dsn: str, name: str, expected: str) -> None:
    run(
        dsn,
        'CREATE SCHEMA other; CREATE SCHEMA "Other"',
        "CREATE TABLE plain AS SELECT 'plain' AS x",
        "CREATE TABLE other.plain AS SELECT 'other' AS x",
        "CREATE TABLE \"Other\".plain AS SELECT 'upper schema' AS x",
        "CREATE TABLE \"Mixed\" AS SELECT 'mixed case' AS x",
        "CREATE TABLE mixed AS SELECT 'lower case' AS x",
        "CREATE TABLE other.\"dotted.name\" AS SELECT 'dotted' AS x",
        "CREATE VIEW a_view AS SELECT * FROM plain",
    )
    assert values(read(dsn, name)) == [expected]


def test_dropped_columns_are_gone(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int, b int, c text)", "ALTER TABLE t DROP COLUMN b", "INSERT INTO t VALUES (1, 'x')")
    assert read(dsn, "t").to_pylist() == [{"a": 1, "c": "x"}]


# -- bounds -----------------------------------------------------------------------------------------------------------

MANY = pa.table(
    {
        "i": pa.array([*range(-50, 50), None, 2**31 - 1, -(2**31)], pa.int32()),
        "b": pa.array([*[i * 10**16 for i in range(-50, 50)], 2**63 - 1, None, -(2**63)], pa.int64()),
        "s": pa.array([*[TEXTS[i % 17] for i in range(100)], None, "a", "A"], pa.string()),
        "d": pa.array([*[date(2024, 1, 1) + timedelta(i) for i in range(100)], date(1, 1, 1), None, date(9999, 1, 1)]),
        "u": pa.array([*[str(uuid.UUID(int=i)) for i in range(100)], None, None, None]),
        "m": pa.array([*["good", "bad", "it's"] * 33, None, None, "bad", "bad"]),
        "f": pa.array([*[i / 4 for i in range(100)], None, math.inf, -0.0]),
        "t": pa.array([*[TIMES[i % 6] for i in range(100)], None, None, None], pa.timestamp("us", tz="UTC")),
    }
)
TABLE = (
    "CREATE TYPE mood AS ENUM ('good', 'bad', 'it''s')",
    "CREATE TABLE t (i int, b bigint, s text, d date, u uuid, m mood, f double precision, t timestamptz)",
)


def fits(row: dict[str, Any], bounds: Bounds) -> bool:
    """The oracle: the same comparison in Python, on what was inserted."""

    def day(value: Any, like: Any) -> Any:
        return date.fromisoformat(value) if isinstance(value, str) and isinstance(like, date) else value

    for name, wanted in bounds.among.items():
        if row[name] is None or row[name] not in {day(v, row[name]) for v in wanted}:
            return False
    for name, (low, high) in bounds.between.items():
        value = row[name]
        if value is None or (low is not None and value < day(low, value)):
            return False
        if high is not None and value > day(high, value):
            return False
    return True


def among(column: str, *wanted: Any) -> Bounds:
    return Bounds(among={column: frozenset(wanted)})


def between(column: str, low: Any, high: Any) -> Bounds:
    return Bounds(between={column: (low, high)})


PUSHED = [
    among("i", 3),
    among("i", -3, 4, 10**30, -(10**30)),
    among("i"),
    among("i", 10**30),
    among("i", 2**31),
    among("b", 2**63 - 1, -(2**63), 2**63),
    among("s", ""),
    *[among("s", text, "no such text") for text in TEXTS[1:17]],
    among("s", "a"),
    among("s", "a\0b", "\ud800"),
    among("d", "2024-02-29", date(2024, 1, 1), "0001-01-01"),
    among("u", str(uuid.UUID(int=5)), "not a uuid", str(uuid.UUID(int=2**100 + 0xA)).upper()),
    among("u", "nothing like it"),
    among("m", "good", "no such mood"),
    among("m", "it's"),
    between("i", -5, 5),
    between("i", None, -40),
    between("i", 40, None),
    between("i", 5, -5),
    between("i", 10**30, None),
    between("i", None, -(10**30)),
    between("b", -(2**63), 0),
    between("d", "2024-01-10", "2024-01-20"),
    between("d", date(2024, 4, 1), None),
    Bounds(among={"s": frozenset(["", "NULL"]), "i": frozenset(range(20))}, between={"d": ("2024-01-01", None)}),
]
NOT_PUSHED = [
    between("s", "a", "b"),  # collations
    between("u", "0", "9"),
    among("f", 0.25, 0.5),
    between("f", 1.0, 2.0),
    among("i", 1, 2.5),
    between("i", 0.5, None),
    between("i", -(10**30), 10**30),  # says no more than "not NULL"
    among("i", True),
    among("d", date(2024, 1, 1), "no date"),
    between("t", TIMES[1], None),
    among("i", *range(10**5)),
    Bounds(low=5, high=6, newest=3),
    Bounds(among={"not a column": frozenset([1])}, between={"nor this": (1, 2)}),
]


@pytest.fixture(scope="module")
def many(server: str) -> str:
    run(server, *TABLE)
    pg.insert(server, "t", MANY)
    return server


@pytest.mark.parametrize("bounds", PUSHED, ids=map(str, range(len(PUSHED))))
def test_bounds_leave_exactly_the_fitting_rows(many: str, bounds: Bounds) -> None:
    assert read(many, "t", bounds=bounds).to_pylist() == [row for row in MANY.to_pylist() if fits(row, bounds)]


@pytest.mark.parametrize("bounds", NOT_PUSHED, ids=map(str, range(len(NOT_PUSHED))))
def test_a_bound_that_might_mean_something_else_is_left_to_the_caller(many: str, bounds: Bounds) -> None:
    assert read(many, "t", bounds=bounds).to_pylist() == MANY.to_pylist()


def test_bounds_apply_to_columns_that_are_not_asked_for(many: str) -> None:
    assert values(read(many, "t", "d", bounds=among("i", -50))) == [date(2024, 1, 1)]


def test_a_text_is_not_a_program(dsn: str) -> None:
    run(dsn, 'CREATE TABLE t ("x""; DROP TABLE t; --" text)', "INSERT INTO t VALUES ('''; DROP TABLE t; --')")
    name = 'x"; DROP TABLE t; --'
    assert values(read(dsn, "t", bounds=among(name, "'; DROP TABLE t; --", "\\'; DROP TABLE t; --"))) == [
        "'; DROP TABLE t; --"
    ]


def test_a_database_that_is_not_utf8_is_not_asked_for_texts_it_cannot_hold(server: str) -> None:
    run(server, "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    dsn = server.removesuffix("postgres") + "latin"
    run(dsn, "CREATE TABLE t (x text)", "INSERT INTO t VALUES ('Grüße'), ('a')")
    assert values(read(dsn, "t", bounds=among("x", "世界", "a"))) == ["Grüße", "a"]
    assert values(read(dsn, "t", bounds=among("x", "a"))) == ["a"]


# -- insert -----------------------------------------------------------------------------------------------------------


def test_insert_takes_columns_by_name_and_leaves_others_to_their_defaults(dsn: str) -> None:
    run(dsn, 'CREATE TABLE t (id bigserial, a int DEFAULT 7, "B" text)')
    assert pg.insert(dsn, "t", pa.table({"b": ["x", None], "A": [1, 2]})) == 2
    assert pg.insert(dsn, "t", pa.table({"b": ["y"]})) == 1
    assert read(dsn, "t").to_pylist() == [
        {"id": 1, "a": 1, "B": "x"},
        {"id": 2, "a": 2, "B": None},
        {"id": 3, "a": 7, "B": "y"},
    ]


def test_insert_of_many_batches_and_slices(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a bigint, b bytea, s text)")
    count = 3 * pg_rows.ROWS + 5
    rows = pa.table(
        {
            "a": pa.array(range(count)),
            "b": pa.array([None if i % 3 == 0 else str(i).encode() for i in range(count)]),
            "s": pa.array([None if i % 5 == 0 else f"{i}\t\\" for i in range(count)]).dictionary_encode(),
        }
    ).slice(1)
    assert pg.insert(dsn, "t", rows) == count - 1
    back = read(dsn, "t")
    assert back.to_pydict() == rows.to_pydict()


def test_insert_takes_other_kinds_of_arrow(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a numeric, b timestamptz, c timestamp, d text, e bytea, f int)")
    rows = pa.table(
        {
            "a": pa.array([2**64 - 1], pa.uint64()),
            "b": pa.array([datetime(2024, 7, 1, 12)], pa.timestamp("ms", tz="Europe/Berlin")),
            "c": pa.array([datetime(2024, 7, 1, 12)], pa.timestamp("s")),
            "d": pa.array(["x"], pa.large_string()),
            "e": pa.array([b"xy"], pa.binary(2)),
            "f": pa.nulls(1),
        }
    )
    pg.insert(dsn, "t", rows)
    noon = datetime(2024, 7, 1, 12, tzinfo=UTC)
    assert read(dsn, "t").to_pylist() == [
        {"a": Decimal(2**64 - 1), "b": noon, "c": noon, "d": "x", "e": b"xy", "f": None}
    ]


def test_insert_of_nothing(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int)")
    assert pg.insert(dsn, "t", pa.table({"a": pa.array([], pa.int32())})) == 0


def test_insert_is_all_or_nothing(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int PRIMARY KEY)", "INSERT INTO t VALUES (50000)")
    with pytest.raises(EngineError) as caught:
        pg.insert(dsn, "t", pa.table({"a": range(60_000)}))
    assert caught.value.primary == 'PostgreSQL table "t" did not take the rows'
    assert "Key (a)=(50000) already exists" in (caught.value.detail or "")
    assert values(read(dsn, "t")) == [50_000]


def test_a_constraint_checked_at_the_end_is_an_error_too(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(EngineError, match=r"Key \(a\)=\(1\) already exists"):
        pg.insert(dsn, "t", pa.table({"a": [1, 1]}))
    assert read(dsn, "t").num_rows == 0


def test_insert_says_which_value_was_refused(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int, s text)")
    with pytest.raises(EngineError, match=r"out of range for type integer.*line 2, column a"):
        pg.insert(dsn, "t", pa.table({"a": [1, 2**40]}))
    with pytest.raises(EngineError, match="0x00"):
        pg.insert(dsn, "t", pa.table({"s": ["a\0b"]}))
    with pytest.raises(UnknownName, match=r'column "b" does not exist in PostgreSQL table "public\.t"'):
        pg.insert(dsn, "t", pa.table({"b": [1]}))
    with pytest.raises(IntakeError, match="name a column twice"):
        pg.insert(dsn, "t", pa.table({"a": [1], "A": [2]}))
    with pytest.raises(IntakeError, match="have no columns"):
        pg.insert(dsn, "t", pa.table({}))
    with pytest.raises(IntakeError, match=r'column "a" holds list<.*>, which cannot be written to PostgreSQL'):
        pg.insert(dsn, "t", pa.table({"a": [[1]]}))
    assert read(dsn, "t").num_rows == 0


# -- errors -----------------------------------------------------------------------------------------------------------


def test_a_missing_table_offers_the_nearest(dsn: str) -> None:
    run(dsn, "CREATE TABLE orders (a int)", "CREATE SCHEMA shop", "CREATE TABLE shop.customers (a int)")
    with pytest.raises(UnknownName) as caught:
        pg.describe(dsn, "ordrs")
    assert str(caught.value) == 'PostgreSQL table "ordrs" does not exist\nHint: Did you mean "orders"?'
    with pytest.raises(UnknownName) as caught:
        pg.describe(dsn, "shop.customer")
    assert caught.value.hint == 'Did you mean "shop.customers"?'
    with pytest.raises(UnknownName) as caught:
        pg.describe(dsn, "customers")
    assert caught.value.hint == 'Did you mean "shop.customers"?'
    with pytest.raises(UnknownName) as caught:
        pg.fetch(dsn, "zzz", ["a"], Schema.of([("a", "INT")]), NO_BOUNDS)
    assert caught.value.detail == "There is: orders, shop.customers."


@pytest.mark.parametrize("name", ["", "  ", "a.b.c", 'a"b', ".a", "a.", "a\0"])
def test_what_is_not_a_name(dsn: str, name: str) -> None:
    with pytest.raises(CatalogError, match="is not the name of a PostgreSQL table"):
        pg.describe(dsn, name)


def test_columns_that_differ_only_in_case(dsn: str) -> None:
    run(dsn, 'CREATE TABLE t (a int, "A" int)')
    with pytest.raises(CatalogError) as caught:
        pg.describe(dsn, "t")
    assert caught.value.primary == 'PostgreSQL table "t" has columns whose names differ only in case'
    assert caught.value.detail == 'Column "A" is named twice.'


def test_a_table_that_changed_since_it_was_attached(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int, b int)")
    schema = pg.describe(dsn, "t")
    run(dsn, "ALTER TABLE t ALTER a TYPE bigint", "ALTER TABLE t RENAME b TO bb")
    with pytest.raises(EngineError) as caught:
        pg.fetch(dsn, "t", ["a"], schema, NO_BOUNDS)
    assert caught.value.primary == 'column "a" of PostgreSQL table "public.t" has changed its type'
    assert caught.value.detail == "It was INT and is BIGINT now."
    with pytest.raises(UnknownName, match=r'column "b" does not exist in PostgreSQL table "public\.t"'):
        pg.fetch(dsn, "t", ["b"], schema, NO_BOUNDS)
    with pytest.raises(UnknownName, match='column "c" does not exist in table "t"'):
        pg.fetch(dsn, "t", ["c"], schema, NO_BOUNDS)


def test_a_table_one_may_not_read(dsn: str) -> None:
    run(dsn, "CREATE TABLE t (a int)", "CREATE ROLE guest LOGIN PASSWORD 'guest-secret'")
    parts = urlsplit(dsn)
    guest = f"postgresql://guest:guest-secret@127.0.0.1:{parts.port}{parts.path}"
    schema = pg.describe(guest, "t")
    try:
        with pytest.raises(EngineError) as caught:
            pg.fetch(guest, "t", ["a"], schema, NO_BOUNDS)
        assert caught.value.primary == 'PostgreSQL could not read table "t"'
        assert caught.value.detail == "Permission denied for table t."
        assert caught.value.hint == "Grant SELECT on it to this user."
        with pytest.raises(EngineError) as caught:
            pg.insert(guest, "t", pa.table({"a": [1]}))
        assert caught.value.hint == "Grant INSERT on it to this user."
    finally:
        run(dsn, "DROP ROLE guest")


def test_an_error_in_the_middle_of_the_rows(dsn: str) -> None:
    run(
        dsn,
        "CREATE TABLE base AS SELECT i FROM generate_series(1, 100000) i",
        "CREATE VIEW t AS SELECT 1 / (i - 99999) AS x, repeat('x', 100) AS y FROM base",
    )
    with pytest.raises(EngineError, match="Division by zero"):
        read(dsn, "t")


def test_a_connection_lost_in_the_middle(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(dsn, "CREATE TABLE t AS SELECT i, repeat('x', 1000) AS y FROM generate_series(1, 100000) i")
    monkeypatch.setattr(pg_rows, "CHUNK", 10_000)
    parse = pg_values.parse
    calls: list[int] = []

    def cut_then_parse(*arguments: Any) -> pa.Table:
        if not calls:
            run(dsn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millpond'")
        calls.append(1)
        return parse(*arguments)

    monkeypatch.setattr(pg_rows, "parse", cut_then_parse)
    with pytest.raises(EngineError) as caught:
        read(dsn, "t")
    assert caught.value.primary == 'PostgreSQL could not read table "t"'


def test_psycopg_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EngineError) as caught:
        pg.describe("postgresql://localhost/x", "t")
    assert caught.value.primary == "a table in PostgreSQL needs psycopg, which is not installed"
    assert caught.value.hint == "pip install 'millpond[postgres]'"


def no_answer(dsn: str) -> MillpondError:
    """The error of a connection that fails; neither it nor what lies behind it may show the password."""
    with pytest.raises(EngineError) as caught:
        pg.describe(dsn, "t")
    shown = [caught.value, caught.value.__cause__, caught.value.__context__]
    for secret in ("s3cret", "s3cr", "et!"):
        assert not any(secret in f"{e}{e!r}" for e in shown)
    return caught.value


def test_a_wrong_password(server: str) -> None:
    port = urlsplit(server).port
    error = no_answer(f"postgresql://millpond:s3cret@127.0.0.1:{port}/postgres")
    assert error.primary == f'PostgreSQL at 127.0.0.1:{port} did not accept the password of user "millpond"'
    assert error.hint == "Check user and password."


def test_no_password(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    port = urlsplit(server).port
    error = no_answer(f"host=127.0.0.1 port={port} user=millpond dbname=postgres")
    assert error.primary == f'PostgreSQL at 127.0.0.1:{port} wants a password for user "millpond"'


def test_a_missing_database(server: str) -> None:
    error = no_answer(server.removesuffix("postgres") + "nowhere")
    assert error.primary == f'database "nowhere" does not exist in PostgreSQL at 127.0.0.1:{urlsplit(server).port}'


def test_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    error = no_answer(f"host=127.0.0.1 port={port} user=a password=s3cret")
    assert error.primary == f"PostgreSQL at 127.0.0.1:{port} cannot be reached"
    assert "refused" in (error.detail or "")
    assert error.hint == "Is the address right, and the server running?"


def test_a_host_that_does_not_exist() -> None:
    error = no_answer("host=no-such-host.invalid user=a password=s3cret")
    assert error.primary == "PostgreSQL at no-such-host.invalid:5432 cannot be reached"


def test_a_server_that_never_answers() -> None:
    assert connection.CONNECT_SECONDS == 10
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        started = time.monotonic()
        error = no_answer(f"postgresql://a:s3cret@127.0.0.1:{port}/x?connect_timeout=2")
    assert time.monotonic() - started < 9
    assert error.primary == f"PostgreSQL at 127.0.0.1:{port} did not answer within 2 s"


@pytest.mark.parametrize(
    "dsn",
    [
        "s3cret",
        "host=localhost password=s3cr et!",
        "host=localhost password='s3cret",
        "host=localhost s3cret=1",
        "host=localhost port=s3cret",
        "postgresql://a:s3cr@et!@localhost/x",
        "postgresql://a:s3cr/et!@localhost/x",
        "postgresql://a:12/s3cret@localhost/x",
        "postgresql://a:s3cr%zzet!@localhost/x",
        "postgresql://a:s3cret",
        "host=localhost password=s3cret\0",
    ],
)
def test_an_address_that_cannot_be_read(dsn: str) -> None:
    error = no_answer(dsn)
    assert error.primary == "the address of a PostgreSQL database cannot be read"
    assert "%40" in (error.hint or "")


def test_a_password_in_a_complaint_is_hidden() -> None:
    assert connection.redact('user "a" with s3cret, not s3crets', ["s3cret"]) == 'user "a" with ***, not s3crets'


# -- the server these tests start -------------------------------------------------------------------------------------


def test_the_server_also_listens_on_a_socket(server: str) -> None:
    with psycopg.connect(server) as connection:
        folder = connection.execute("SHOW unix_socket_directories").fetchone()[0]
        assert connection.execute("SHOW fsync").fetchone() == ("off",)  # as asked for
    parts = urlsplit(server)
    run(server, "CREATE TABLE over_socket AS SELECT 1 AS x")
    dsn = f"host={folder} port={parts.port} user={parts.username} password={parts.password} dbname=postgres"
    assert values(read(dsn, "over_socket")) == [1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_the_server_goes_when_the_tests_are_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.postgres import start_postgres\n"
        "print(start_postgres(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[3]
    tests = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "pg")],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with tests:
        assert tests.stdout is not None
        dsn = tests.stdout.readline().strip()
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            folder = connection.execute("SHOW unix_socket_directories").fetchone()[0]
        tests.kill()
    assert stops_answering(dsn)
    shutil.rmtree(folder, ignore_errors=True)  # the dead cannot clean up


def stops_answering(dsn: str) -> bool:
    give_up_at = time.monotonic() + 90
    while time.monotonic() < give_up_at:
        try:
            run(dsn, "SELECT 1")
        except psycopg.OperationalError:
            return True
    return False


@pytest.mark.parametrize(("ci", "outcome"), [("1", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_without_a_server_tests_are_skipped_but_not_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(helper, "FIND", shutil.which("false"))
    with pytest.raises(outcome, match="apt-get install postgresql"):
        helper.start_postgres(tmp_path)
