"""Conditions as text, over rows with the values on which engines disagree; for comparing predicates with engines."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import cycle, islice
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.predicate.form import Not
from millpond.predicate.vector import Columns, matches
from millpond.schema import Schema
from millpond.sql.parser import parse
from millpond.sql.predicates import read_predicate

TYPES = {
    "k": "INT", "small": "SMALLINT", "t": "BIGINT", "name": "STRING", "day": "DATE", "at": "TIMESTAMP", "x": "DOUBLE",
    "y": "DOUBLE", "f": "FLOAT", "d": "DECIMAL(5,2)", "e": "DECIMAL(18,2)", "share": "DECIMAL(18,18)", "wide": "DECIMAL(20,2)",
    "flag": "BOOLEAN", "up": "BOOLEAN",
}  # fmt: skip


def condition(text: str) -> exp.Expr:
    """A condition as binding leaves it: with types on its columns."""
    [statement] = parse(f"SELECT * FROM s WHERE {text}")
    where = statement.query.args["where"].this  # type: ignore[attr-defined]
    for column in where.find_all(exp.Column):
        column.type = exp.DataType.build(TYPES[column.name], dialect="spark")
    found: exp.Expr = where
    return found


def _decimals(*texts: str | None) -> list[Decimal | None]:
    return [None if text is None else Decimal(text) for text in texts]


VALUES: dict[str, list[Any]] = {
    "k": [0, 1, None, -1, 2**31 - 1, -(2**31), 2, 2],
    "small": [0, 2, 32767, -32768, None, 1],
    "t": [None, 0, 2, 1, 2**62, -(2**62)],
    "name": ["", "a", "ab", "A", None, "a%", "a_", "aé", "b", "ab\n", "%", "\\"],
    "day": [date(1970, 1, 1), None, date(2024, 2, 29), date(1, 1, 1)],
    "at": [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC), None],
    "x": [0.0, -0.0, math.nan, 19.95, math.inf, None, -math.inf, 20.0, 0.1, 1e308, 2.5],
    "y": [math.nan, 0.0, 20.0, 19.45, None, 1e308, 0.1, math.inf, -0.4],
    "f": [0.10000000149011612, math.nan, 16777216.0, -math.inf, 2.5, None, -0.0],  # each is a FLOAT
    "d": _decimals("19.99", "20.00", None, "-999.99", "0.00", "999.99", "0.01"),
    "e": _decimals("20.00", "9999999999999999.99", "19.99", "-9999999999999999.99", None),
    "share": _decimals("0.5", "0.999999999999999999", "-0.000000000000000001", None, "0"),
    "wide": _decimals("1", None),
    "flag": [True, False, None],
    "up": [True, True, None, False, False],
}
ROWS = 60
SCHEMA = Schema.of([("id", "BIGINT"), *TYPES.items()])


def sample() -> pa.Table:
    columns = {"id": range(ROWS), **{name: islice(cycle(values), ROWS) for name, values in VALUES.items()}}
    return pa.table({name: list(values) for name, values in columns.items()}, schema=arrow_schema(SCHEMA))


class Rows:
    """A table as a batch of columns."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.size = table.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        return self._table.column(name)


def truths(text: str, columns: Columns) -> list[bool | None]:
    """What a condition is for each row, by its predicate."""
    predicate = read_predicate(condition(text))
    assert predicate is not None, text
    true, false = matches(predicate, columns).tolist(), matches(Not(predicate), columns).tolist()
    assert not any(a and b for a, b in zip(true, false, strict=True)), text
    return [True if a else False if b else None for a, b in zip(true, false, strict=True)]


LITERALS = {
    "k": ["0", "1", "-1", "2147483647", "-2147483648", "3000000000", "2"],
    "small": ["0", "1", "-32768", "40000"],
    "t": ["0", "2", "4611686018427387904", "-5"],
    "name": ["''", "'a'", "'ab'", "'A'", "'aé'", "'b'"],
    "day": ["DATE '1970-01-01'", "'2024-02-29'", "DATE '0001-01-01'"],
    "at": ["TIMESTAMP '1970-01-01 00:00:00'", "'2024-02-29 12:00:00.000001'", "'2024-02-29'", "DATE '1970-01-02'"],
    "x": ["0", "-0.0", "20", "19.95", "2e1", "0.1D", "double('NaN')", "CAST('Infinity' AS DOUBLE)", "-1.5D", "19.95BD", "2L"],
    "f": ["0.1", "16777217", "16777216L", "2.5", "2.5D", "-0.0", "double('NaN')", "0.10000000149011612"],
    "d": ["20", "19.99", "19.995", "-1000", "0", "20.000", "2BD", "19.99BD", "9223372036854775807", "0.000000000000000001"],
    "e": ["20", "19.995", "-9999999999999999.99", "9999999999999999.990001", "20L"],
    "share": ["0.5", "1", "0.9999999999999999985", "-0.000000000000000001", "0"],
    "flag": ["TRUE", "FALSE"],
}  # fmt: skip
ADDED = ["0.5", "1", "0.1", "1e308", "-0.05D", "0.0"]  # to a DOUBLE
COMPARED = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
COLUMNS = st.sampled_from(sorted(LITERALS))
WHOLE = st.sampled_from(["k", "small", "t"])
FLOATING = st.sampled_from(["x", "y", "f"])
DOUBLE = st.sampled_from(["x", "y"])
CENTS = st.sampled_from(["d", "e"])


def literals(column: str) -> st.SearchStrategy[str]:
    return st.sampled_from(LITERALS[column])


SIMPLE = st.one_of(
    COLUMNS.flatmap(lambda c: st.builds("{} {} {}".format, st.just(c), COMPARED, literals(c))),
    COLUMNS.flatmap(lambda c: st.builds("{1} {0} {2}".format, COMPARED, literals(c), st.just(c))),
    COLUMNS.flatmap(lambda c: st.builds("{} BETWEEN {} AND {}".format, st.just(c), literals(c), literals(c))),
    COLUMNS.flatmap(
        lambda c: st.lists(literals(c), min_size=1, max_size=4).map(lambda values: f"{c} IN ({', '.join(values)})")
    ),
    st.builds("{} IS NULL".format, COLUMNS),
    st.builds("{} {} {}".format, WHOLE, COMPARED, WHOLE),
    st.builds("{} {} small + {}".format, WHOLE, COMPARED, st.integers(0, 3)),
    st.builds("name LIKE '{}'".format, st.sampled_from(["a%", "%", "ab%", "aé%", "a", ""])),
    st.builds("{} {} {}".format, FLOATING | st.sampled_from(["k", "small"]), COMPARED, FLOATING),
    st.builds("{} {} {} {} {}".format, FLOATING, COMPARED, DOUBLE, st.sampled_from("+-"), st.sampled_from(ADDED)),
    st.builds("{} + {} {} {}".format, DOUBLE, st.sampled_from(["0.5", "1", "1e308"]), COMPARED, DOUBLE),
    st.builds(
        "{} {} {} {} {}".format, CENTS, COMPARED, CENTS, st.sampled_from("+-"), st.sampled_from(["0.01", "0.005", "1"])
    ),
    st.builds("{} {} {}".format, CENTS, COMPARED, CENTS),
    st.builds("{} {} {}".format, st.sampled_from(["flag", "up"]), COMPARED, st.sampled_from(["flag", "up"])),
    st.sampled_from(["flag", "NOT up", "flag IS TRUE", "up IS NOT FALSE", "isnan(x)", "NOT isnan(f)"]),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("(NOT {})".format, inner),
    ),
    max_leaves=5,
)
