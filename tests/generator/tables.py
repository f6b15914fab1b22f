"""The tables that generated queries read: small, full of NULLs and repeated keys, one empty, one of extreme values.

Doubles are sums of few powers of two wherever sums are made of them, so that the order of rows does not show in a sum. `id`
is unique in each table: a window ordered by it is decided.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa

_TYPES: dict[str, pa.DataType] = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
    "DECIMAL(12,4)": pa.decimal128(12, 4),
    "DECIMAL(38,6)": pa.decimal128(38, 6),
}

SCHEMA: dict[str, dict[str, str]] = {
    "a": {
        "id": "INT", "k": "INT", "g": "STRING", "n": "BIGINT", "d": "DOUBLE", "m": "DECIMAL(10,2)",
        "f": "BOOLEAN", "day": "DATE", "at": "TIMESTAMP",
    },
    "b": {
        "id": "INT", "k": "INT", "s": "STRING", "d": "DOUBLE", "q": "SMALLINT", "z": "TINYINT",
        "m": "DECIMAL(12,4)", "r": "FLOAT",
    },
    "c": {"id": "INT", "k": "BIGINT", "s": "STRING", "v": "DOUBLE", "t": "BIGINT"},
    "e": {"id": "INT", "k": "INT", "s": "STRING", "d": "DOUBLE", "m": "DECIMAL(10,2)", "day": "DATE", "f": "BOOLEAN"},
    "x": {
        "id": "INT", "i": "INT", "n": "BIGINT", "d": "DOUBLE", "s": "STRING", "m": "DECIMAL(38,6)", "day": "DATE",
        "at": "TIMESTAMP", "y": "BINARY",
    },
}  # fmt: skip
STREAMS = {"c": "t"}
"""Streaming tables, with their time columns."""
SHOWN = "c_shown"
"""What `*` shows of a window over `c`: the columns without the time."""
WINDOWS = {
    "c [UNBOUNDED]": SHOWN, "c [SINCE 0]": SHOWN, "c [ROWS 100]": f"{SHOWN} AS c", "c [INTERVAL 100]": f"{SHOWN} AS c",
}  # fmt: skip
"""Windows that hold all rows of `c`, those before an alias and those without one; and what Spark reads instead."""


def _at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def _a() -> list[tuple[object, ...]]:
    d, day = Decimal, dt.date
    return [
        (1, 1, "x", 10, 1.5, d("1.50"), True, day(2024, 2, 29), _at("2024-02-29T12:34:56.789")),
        (2, 1, "y", 20, 0.5, d("-2.50"), False, day(2024, 2, 29), _at("2024-02-29T23:59:59.999999")),
        (3, 2, "x", None, -0.25, d("0.00"), None, day(1970, 1, 1), _at("1970-01-01T00:00:00")),
        (4, 2, None, -3, 2.0, d("99.99"), True, None, _at("1969-12-31T23:59:59.5")),
        (5, 3, "Zed", 7, None, None, True, day(2023, 12, 31), None),
        (6, None, "", 0, 0.0, d("10.00"), False, day(2024, 1, 1), _at("2024-01-01T00:00:00")),
        (7, None, "a b", 10, -0.0, d("1.50"), None, day(2000, 2, 29), _at("2000-02-29T06:00:00")),
        (8, 5, "10", 1000, 100.0, d("-0.05"), False, day(2024, 12, 30), _at("2024-12-30T01:00:00")),
        (9, 0, "x", -1, -4.75, d("2.50"), True, day(2024, 3, 31), _at("2024-03-31T02:30:00")),
    ]


def _b() -> list[tuple[object, ...]]:
    d = Decimal
    return [
        (1, 1, "x", 1.5, 1, 1, d("1.5000"), 1.5),
        (2, 1, "Y", 0.5, -7, -3, d("0.1250"), 0.25),
        (3, 3, None, None, None, 5, None, None),
        (4, 4, "x%y", 8.0, 300, None, d("-12.3456"), -2.0),
        (5, None, "é", -0.25, 2, 0, d("0.0000"), 0.0),
        (6, 2, "10", 3.0, 10, 10, d("2.5000"), 0.5),
        (11, 2, "", 3.0, 0, 2, d("99.9900"), 100.0),
    ]


def _c() -> list[tuple[object, ...]]:
    return [
        (1, 1, "x", 1.0, 0),
        (2, 1, "y", 2.5, 10),
        (3, 2, None, None, 10),
        (4, None, "x", -1.5, 20),
        (5, 3, "zz", 0.0, 35),
        (6, 3, " x ", 4.0, 60),
        (20, 7, "Zed", 0.5, 61),
    ]


def _x() -> list[tuple[object, ...]]:
    d, day, inf, nan = Decimal, dt.date, float("inf"), float("nan")
    # Two of the large ones are too much for a sum, whatever else there is and in whatever order.
    large, small = d("89999999999999999999999999999999.999999"), d("-9999999999999999999999999.999999")
    return [
        (1, 2**31 - 1, 2**63 - 1, inf, "ß", large, day(9999, 12, 31), _at("9999-12-31T23:59:59.999999"), b"\xff\x00"),
        (2, -(2**31), -(2**63), -inf, "日本語", small, day(1, 1, 1), _at("0001-01-01T00:00:00"), b""),
        (3, 0, 0, nan, "", d("0.000001"), day(1582, 10, 15), _at("1582-10-15T00:00:00"), b"abc"),
        (4, -1, 2**53 + 1, 1.7976931348623157e308, "a\nb", d("0.000000"), day(1900, 3, 1), _at("1900-03-01T00:00:00"), None),
        (5, 1, 2**31, 5e-324, "\\%_", d("1.500000"), day(2100, 2, 28), _at("2100-02-28T12:00:00.000001"), b"\x80"),
        (6, 65536, -(2**31) - 1, -0.0, "  ", d("-123456789.987654"), day(1969, 12, 31), _at("1969-12-31T23:59:59.999999"), b"x"),
        (7, None, None, None, None, None, None, None, None),
    ]  # fmt: skip


_ROWS = {"a": _a(), "b": _b(), "c": _c(), "e": [], "x": _x()}


def rows(name: str) -> pa.Table:
    """The rows of a table."""
    columns = SCHEMA[name].items()
    return pa.table({c: pa.array([row[i] for row in _ROWS[name]], _TYPES[kind]) for i, (c, kind) in enumerate(columns)})
