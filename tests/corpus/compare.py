"""When two answers are the same. Not told apart: Arrow's string and large_string, the zone of a timestamp (all sessions are
in UTC), `-0.0` and `0.0`, NaN and NaN. Doubles agree to 1e-12 of their size where the statement adds doubles up or takes
deviations, exactly elsewhere. Deviations that cancel may leave 1e-12 in place of nothing; and where rows are ordered by such doubles,
their last bits decide.
"""

from __future__ import annotations

import math
import re
from collections import Counter

import pyarrow as pa

from tests.corpus import Case


def normal_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    return kind


def normal(value: object) -> object:
    """A value that compares equal exactly when the engines agree."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list | dict):
        return repr(value)
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(normal(value) for value in row.values()) for row in _renamed(table).to_pylist()]


def _renamed(table: pa.Table) -> pa.Table:
    """Columns by their places; days and instants as numbers, because Python's own end with the year 9999."""
    return pa.table({str(i): _numbered(column) for i, column in enumerate(table.columns)})


def _numbered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_string(column.type) and not _is_text(column):
        return column.cast(pa.binary())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _is_text(column: pa.ChunkedArray) -> bool:
    """Whether all strings are texts: Spark makes a STRING of any bytes."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def sums_doubles(sql: str) -> bool:
    return (
        re.search(r"\b(sum|avg|mean|std\w*|var\w*|corr|covar_\w+|regr_\w+|kurtosis|skewness)\s*\(", sql, re.IGNORECASE)
        is not None
    )


def assert_same(case: Case, mine: pa.Table, spark: pa.Table) -> None:
    if not case.our_names:
        assert mine.column_names == spark.column_names
    assert [normal_type(f.type) for f in mine.schema] == [normal_type(f.type) for f in spark.schema]
    found, expected = rows_of(mine), rows_of(spark)
    assert len(found) == len(expected)
    if sums_doubles(case.sql):
        if not (case.ordered and _different(found, expected) is None):
            different = _different(_sorted(found), _sorted(expected))
            assert different is None, different
    elif case.ordered:
        assert found == expected
    else:
        assert Counter(found) == Counter(expected)


def _sorted(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(rows, key=lambda row: [f"{round(v, 9) + 0.0:.6e}" if isinstance(v, float) else str(v) for v in row])


def _different(found: list[tuple[object, ...]], expected: list[tuple[object, ...]]) -> object:
    """The first pair of rows that are not the same; None if there is none."""
    pairs = zip(found, expected, strict=True)
    return next((pair for pair in pairs if not all(map(_close, *pair))), None)


def _close(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    return a == b
