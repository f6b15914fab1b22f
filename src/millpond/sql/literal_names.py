"""How Spark prints numbers, moments and types in the names of unnamed outputs: as Java does, whatever was written."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Final

from sqlglot import exp


class NoName(Exception):
    """Only Spark knows what it would call this."""


def number_name(written: str, suffix: str = "") -> str:
    """A number as Java prints it."""
    if suffix in ("DOUBLE", "FLOAT") or (not suffix and "e" in written.lower()):
        return _java_double(float(written))
    if suffix == "DECIMAL" or "." in written:
        return str(Decimal(written))
    return str(int(written))


def signed_name(written: str, suffix: str) -> str:
    """A negative number. Only doubles know a negative zero."""
    name = number_name(written, suffix)
    is_double = suffix in ("DOUBLE", "FLOAT") or (not suffix and "e" in written.lower())
    return name if not is_double and not float(written) else f"-{name}"


def _java_double(value: float) -> str:
    """Double.toString: plain from a thousandth to ten million, else one digit before the point and an exponent."""
    if not math.isfinite(value):
        raise NoName
    sign = "-" if math.copysign(1, value) < 0 else ""
    value = abs(value)
    if value == 0 or 1e-3 <= value < 1e7:
        plain = format(Decimal(repr(value)), "f")
        return sign + (plain if "." in plain else f"{plain}.0")
    digits = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits.digits)).rstrip("0") or "0"
    exponent = len(digits.digits) - 1 + int(digits.exponent)
    return f"{sign}{text[0]}.{text[1:] or '0'}E{exponent}"


def moment_name(written: str, kind: exp.DType) -> str:
    """DATE and TIMESTAMP literals, in the plain form of which it is sure what they mean."""
    try:
        if kind is exp.DType.DATE and len(written) == 10:
            return f"DATE '{datetime.date.fromisoformat(written)}'"
        if kind in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ) and len(written) in (10, 19):
            return f"TIMESTAMP '{datetime.datetime.fromisoformat(written).isoformat(' ')}'"
    except ValueError:
        pass
    raise NoName


_TYPES: Final = {
    exp.DType.TINYINT: "TINYINT",
    exp.DType.SMALLINT: "SMALLINT",
    exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.FLOAT: "FLOAT",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.TEXT: "STRING",
    exp.DType.BINARY: "BINARY",
    exp.DType.DATE: "DATE",
    exp.DType.TIMESTAMP: "TIMESTAMP",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP",
}


def type_name(to: exp.Expr) -> str:
    if to.this is exp.DType.DECIMAL:
        sizes = [size.name for size in to.expressions]
        return f"DECIMAL({','.join((sizes + ['10', '0'][len(sizes) :])[:2])})"
    if to.this not in _TYPES or to.expressions:
        raise NoName
    return _TYPES[to.this]
