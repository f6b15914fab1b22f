"""Spark's type algebra in ANSI mode: common types, decimal results, and casts that cannot lose anything.

Only what is proved is here; any other combination is refused, and Spark either does it or raises its own error.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from decimal import Decimal

from millpond.schema import DataType
from millpond.sql.rules.terms import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    NotOnDuckDB,
    Value,
    duck,
    text,
)

WIDTHS = {"TINYINT": 1, "SMALLINT": 2, "INT": 4, "BIGINT": 8}
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
# A DECIMAL of at most 15 digits is an integer below 2**53 over a power of ten below 10**22: both are exact doubles, so
# their quotient is the correctly rounded double on either engine. Beyond that the engines round differently.
_EXACT_DIGITS = 15

_INTEGER = re.compile(r"[+-]?\d{1,19}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_PLAIN = re.compile(r"-?\d+(\.\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def is_number(type: DataType) -> bool:
    return type.is_integer or type.name in ("DECIMAL", "DOUBLE", "FLOAT")


def fits(number: int, type: DataType) -> bool:
    bits = 8 * WIDTHS[type.name] - 1
    return -(1 << bits) <= number < 1 << bits


def decimal(precision: int, scale: int) -> DataType:
    """A DECIMAL result type. Spark trims the scale of those beyond 38 digits; we leave that to Spark."""
    if precision > 38:
        raise NotOnDuckDB("a decimal result of more than 38 digits is only supported on Spark")
    return DataType("DECIMAL", precision, scale)


def as_decimal(type: DataType) -> DataType:
    return type if type.name == "DECIMAL" else DataType("DECIMAL", _DIGITS[type.name], 0)


def wider_decimal(a: DataType, b: DataType) -> DataType:
    scale = max(a.scale, b.scale)
    return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)


def common(a: DataType, b: DataType) -> DataType:
    """The type to which Spark brings two values that meet in a comparison, CASE, IN, COALESCE or UNION."""
    if a == b or b == VOID:
        return a
    if a == VOID:
        return b
    if a.is_integer and b.is_integer:
        return a if WIDTHS[a.name] >= WIDTHS[b.name] else b
    if (DOUBLE in (a, b) or FLOAT in (a, b)) and is_number(a) and is_number(b):
        return DOUBLE  # a FLOAT alone would lose digits of the other
    if (a.name == "DECIMAL" or b.name == "DECIMAL") and is_number(a) and is_number(b):
        return wider_decimal(as_decimal(a), as_decimal(b))
    if {a, b} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if STRING in (a, b):
        # ANSI: the string gives way, to BIGINT for integers and to DOUBLE for fractions. `convert` lets only constants.
        other = b if a == STRING else a
        if other.is_integer:
            return BIGINT
        if is_number(other):
            return DOUBLE
        if other in (DATE, TIMESTAMP):
            return other
    raise NotOnDuckDB(f"mixing {a} and {b} is only supported on Spark")


def common_of(values: Sequence[Value]) -> DataType:
    """The common type of several values; the order must not matter, so strings among others are left to Spark."""
    result = values[0].type
    for value in values[1:]:
        result = common(result, value.type)
    if len(values) > 2 and result != STRING and any(value.type == STRING for value in values):
        raise NotOnDuckDB("mixing strings with other types is only supported on Spark")
    return result


def number_literal(written: str) -> Value:
    """Spark's reading of a number: INT, else BIGINT; DECIMAL when it has a point; DOUBLE when it has an exponent."""
    if "e" in written or "E" in written:
        return literal(float(written), DOUBLE)
    if "." not in written:
        number = int(written)
        type = INT if fits(number, INT) else BIGINT
        if not fits(number, type):
            raise NotOnDuckDB("an integer beyond BIGINT is only supported on Spark")
        return literal(number, type)
    value = Decimal(written)
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    return literal(value, decimal(max(len(digits) if any(digits) else 1, scale, 1), scale))


def literal(constant: object, type: DataType) -> Value:
    """A constant as DuckDB text of exactly `type`."""
    if constant is None:
        sql = f"CAST(NULL AS {duck(type)})" if type != VOID else "NULL"
    elif isinstance(constant, bool):
        sql = "TRUE" if constant else "FALSE"
    elif type == DOUBLE:
        number = float(constant)  # type: ignore[arg-type]
        written = repr(number)
        written = written if "e" in written else f"{written}e0"
        sql = written if math.isfinite(number) else f"CAST('{number!r}' AS DOUBLE)"
        sql = f"({sql})" if sql.startswith("-") else sql
    elif type.is_integer:
        # DuckDB reads a bare number as INTEGER or, beyond, as BIGINT, just as Spark does.
        bare = fits(int(constant), INT) == (type == INT) and type.name in ("INT", "BIGINT")  # type: ignore[call-overload]
        sql = str(constant) if bare and int(constant) >= 0 else f"CAST({constant} AS {duck(type)})"  # type: ignore[call-overload]
    elif type == STRING:
        sql = text(str(constant))
    elif type in (DATE, TIMESTAMP):
        sql = f"{type.name} {text(str(constant))}"
    else:
        sql = f"CAST({constant} AS {duck(type)})"
    return Value(sql, type, False, constant)


def convert(value: Value, type: DataType) -> Value:
    """`value` brought to `type` by an implicit cast of Spark's; refuses one that could lose or depend on the data."""
    source = value.type
    if source == type:
        return value
    if source == VOID:
        return literal(None, type)
    if source == STRING and type != STRING:
        if not isinstance(value.constant, str):
            raise NotOnDuckDB(f"an implicit cast of a string to {type} is only supported on Spark")
        return parse_constant(value.constant, type)
    if value.is_constant and value.constant is not None:
        if type.is_integer and source.is_integer:
            return literal(value.constant, type)
        if type.name == "DECIMAL" and isinstance(value.constant, int) and _fits_decimal(value.constant, type):
            return literal(value.constant, type)
        if type == DOUBLE and is_number(source):
            return literal(float(value.constant), type)  # type: ignore[arg-type]
    if type == DOUBLE and source.name == "DECIMAL" and source.precision > _EXACT_DIGITS:
        raise NotOnDuckDB(f"a cast of {source} to DOUBLE is only supported on Spark")
    widening = (
        (source.is_integer and type.is_integer and WIDTHS[source.name] < WIDTHS[type.name])
        or (type == DOUBLE and is_number(source))
        or (type.name == "DECIMAL" and (source.is_integer or source.name == "DECIMAL") and _holds(type, source))
        or (source == DATE and type == TIMESTAMP)
    )
    if not widening:
        raise NotOnDuckDB(f"an implicit cast of {source} to {type} is only supported on Spark")
    return Value(f"CAST({value.sql} AS {duck(type)})", type, value.raises)


def _holds(target: DataType, source: DataType) -> bool:
    source = as_decimal(source)
    return target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale


def _fits_decimal(number: int, type: DataType) -> bool:
    return len(str(abs(number))) <= type.precision - type.scale


def parse_constant(written: str, type: DataType) -> Value:
    """A string constant cast to `type`, in the plain formats that both engines read alike."""
    if type.is_integer and _INTEGER.fullmatch(written) and fits(int(written), type):
        return literal(int(written), type)
    if type == DOUBLE:
        if written in _SPECIAL:
            return literal(_SPECIAL[written], DOUBLE)
        if _NUMBER.fullmatch(written):
            return literal(float(written), DOUBLE)
    if type.name == "DECIMAL" and _PLAIN.fullmatch(written):
        value = number_literal(written if "." in written else f"{written}.")
        if value.type == type:
            return value
    if type == DATE and _DATE.fullmatch(written) and _is_day(written):
        return literal(written, DATE)
    if type == TIMESTAMP and _TIMESTAMP.fullmatch(written) and _is_day(written[:10]) and _is_clock(written[11:]):
        return literal(written, TIMESTAMP)
    if type == BOOLEAN and written.lower() in ("true", "false"):
        return literal(written.lower() == "true", BOOLEAN)
    raise NotOnDuckDB(f"a cast of '{written}' to {type} is only supported on Spark")


def _is_day(written: str) -> bool:
    try:
        datetime.date.fromisoformat(written)
    except ValueError:
        return False
    return True


def _is_clock(written: str) -> bool:
    return not written or (written[:2] < "24" and written[3:5] < "60" and written[6:8] < "60")
