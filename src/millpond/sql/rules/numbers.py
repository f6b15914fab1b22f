"""Arithmetic and numeric functions.

DuckDB agrees with Spark on integer overflow (both raise) and, with the settings of `configure`, on division by zero
(both raise). What differs is the result type, the rounding of casts, and decimals; the rules below fix the first two
and let through only the decimal results that are exact on both.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millpond.schema import DataType
from millpond.sql.dialect import ERROR_IS_FINE
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
    Rule,
    Translator,
    Value,
    duck,
    only,
    only_spark,
    type_of,
    unproved,
)
from millpond.sql.rules.times import add_days, add_interval, interval_of
from millpond.sql.rules.types import (
    as_decimal,
    common,
    convert,
    decimal,
    fits,
    is_number,
    literal,
    number_literal,
    parse_constant,
)

_SYMBOLS: dict[type[exp.Expression], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
}


_DIGITS_KEPT = 34  # by Spark's `-` and `abs` of a decimal, which round to so many


def written(node: exp.Literal, tr: Translator) -> Value:
    return literal(node.this, STRING) if node.is_string else number_literal(node.this)


def raw_text(node: exp.RawString, tr: Translator) -> Value:
    return literal(node.this, STRING)


def null(node: exp.Null, tr: Translator) -> Value:
    return literal(None, VOID)


def truth(node: exp.Boolean, tr: Translator) -> Value:
    return literal(bool(node.this), BOOLEAN)


def negation(node: exp.Neg, tr: Translator) -> Value:
    # The sign belongs to the literal: -2147483648 is an INT although 2147483648 is not.
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number_literal("-" + inner.this)
    value = tr.value(inner)
    if not is_number(value.type):
        raise NotOnDuckDB(f"minus of {value.type} is only supported on Spark")
    if isinstance(value.constant, int) and fits(-value.constant, value.type):
        return literal(-value.constant, value.type)
    sql = f"(- {value.sql})"
    if value.type.is_integer:  # of the smallest constant DuckDB would make a wider type, instead of an error
        return Value(f"CAST({sql} AS {duck(value.type)})", value.type, value.raises)
    _need_kept("minus", value)
    return Value(sql, value.type, value.raises)


def _need_kept(what: str, value: Value) -> None:
    if value.type.name == "DECIMAL" and value.type.precision > _DIGITS_KEPT:
        raise NotOnDuckDB(f"{what} of {value.type} is only supported on Spark")


def arithmetic(node: Any, tr: Translator) -> Value:
    """`+`, `-`, `*`: on dates and timestamps too, where one side is an interval or a number of days."""
    only(node, "this", "expression")
    symbol = _SYMBOLS[node.__class__]
    if symbol in "+-":
        interval = interval_of(node.expression)
        if interval is not None:
            return add_interval(tr.value(node.this), symbol, interval)
        interval = interval_of(node.this)
        if interval is not None and symbol == "+":
            return add_interval(tr.value(node.expression), symbol, interval)
    left, right = tr.value(node.this), tr.value(node.expression)
    if left.type == DATE and right.type == INT and symbol in "+-":
        return add_days(left, symbol, right)
    _need_numbers(symbol, left, right)
    raises = left.raises or right.raises
    if (left.type.name == "DECIMAL" or right.type.name == "DECIMAL") and DOUBLE not in (left.type, right.type):
        left, right = _as_decimal(left, node.this), _as_decimal(right, node.expression)
        type = _decimal_result(symbol, left.type, right.type)
        # DuckDB keeps a result of two small decimals small, and overflows; one wide operand makes it wide.
        wide = duck(DataType("DECIMAL", type.precision, left.type.scale))
        return Value(f"CAST(CAST({left.sql} AS {wide}) {symbol} {right.sql} AS {duck(type)})", type, raises)
    type = common(left.type, right.type)
    left, right = convert(left, type), convert(right, type)
    if isinstance(left.constant, int) and isinstance(right.constant, int):
        a, b = left.constant, right.constant
        number = a + b if symbol == "+" else a - b if symbol == "-" else a * b
        if fits(number, type):
            return literal(number, type)
    return Value(f"({left.sql} {symbol} {right.sql})", type, raises)


def _need_numbers(symbol: str, *values: Value) -> None:
    for value in values:
        if not is_number(value.type) or value.type == FLOAT:
            raise NotOnDuckDB(f"{symbol} on {value.type} is only supported on Spark")


def _as_decimal(value: Value, node: exp.Expr) -> Value:
    if value.type.name == "DECIMAL":
        return value
    # Spark gives an integer literal beside a decimal only as many digits as it has, so `amount * 2` stays small. Other
    # constants get those of their type.
    digits = as_decimal(value.type).precision
    if isinstance(value.constant, int):
        node = node.unnest()
        node = node.this if isinstance(node, exp.Neg) else node
        if isinstance(node, (exp.Cast, exp.TryCast)):
            raise NotOnDuckDB(
                "a cast number beside a decimal is only supported on Spark"
            )  # 5L and CAST(5 AS BIGINT) look alike
        if isinstance(node, exp.Literal):
            digits = len(str(abs(value.constant)))
    type = decimal(digits, 0)
    return Value(f"CAST({value.sql} AS {duck(type)})", type, value.raises)


def _decimal_result(symbol: str, a: DataType, b: DataType) -> DataType:
    if symbol == "*":
        return decimal(a.precision + b.precision + 1, a.scale + b.scale)
    scale = max(a.scale, b.scale)
    return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def division(node: exp.Div, tr: Translator) -> Value:
    left, right = tr.value(node.this), tr.value(node.expression)
    _need_numbers("/", left, right)
    if "DECIMAL" in (left.type.name, right.type.name) and DOUBLE not in (left.type, right.type):
        raise NotOnDuckDB("division of decimals is only supported on Spark")
    left, right = convert(left, DOUBLE), convert(right, DOUBLE)
    return Value(f"({left.sql} / {right.sql})", DOUBLE, _divides(left, right))


def _divides(left: Value, right: Value) -> bool:
    """Whether a division can fail: not when the divisor is a constant other than zero."""
    safe = isinstance(right.constant, (int, float)) and right.constant != 0
    return left.raises or right.raises or not safe


def whole_division(node: exp.IntDiv, tr: Translator) -> Value:
    only(node, "this", "expression")
    left, right = tr.value(node.this), tr.value(node.expression)
    if not (left.type.is_integer and right.type.is_integer):
        raise NotOnDuckDB(f"div of {left.type} by {right.type} is only supported on Spark")
    type = common(left.type, right.type)
    left, right = convert(left, type), convert(right, type)
    raises = _divides(left, right) or right.constant == -1
    # Brought to BIGINT first: -2147483648 div -1 fits there.
    return Value(f"(CAST({left.sql} AS BIGINT) // {right.sql})", BIGINT, raises)


def remainder(node: exp.Mod, tr: Translator) -> Value:
    return _remainder(tr.value(node.this), tr.value(node.expression))


def _remainder(left: Value, right: Value) -> Value:
    _need_numbers("%", left, right)
    type = common(left.type, right.type)
    if type.name == "DECIMAL":
        raise NotOnDuckDB("the remainder of decimals is only supported on Spark")
    left, right = convert(left, type), convert(right, type)
    return Value(f"({left.sql} % {right.sql})", type, _divides(left, right))


def positive_remainder(node: exp.Anonymous, tr: Translator) -> Value:
    left, right = tr.values(_arguments(node, 2))
    if not (left.type.is_integer and isinstance(right.constant, int) and right.constant > 0):
        raise NotOnDuckDB("pmod by anything but a positive number is only supported on Spark")
    rest = _remainder(left, right)
    return Value(f"(({rest.sql} + {right.sql}) % {right.sql})", rest.type, left.raises)


def bits(node: Any, tr: Translator) -> Value:
    only(node, "this", "expression")
    left, right = tr.value(node.this), tr.value(node.expression)
    if not (left.type.is_integer and right.type.is_integer):
        raise NotOnDuckDB(unproved(node))
    type = common(left.type, right.type)
    left, right = convert(left, type), convert(right, type)
    if isinstance(node, exp.BitwiseXor):
        sql = f"xor({left.sql}, {right.sql})"
    else:
        sql = f"({left.sql} {_SYMBOLS[node.__class__]} {right.sql})"
    return Value(f"CAST({sql} AS {duck(type)})", type, left.raises or right.raises)


def bits_flipped(node: exp.BitwiseNot, tr: Translator) -> Value:
    value = tr.value(node.this)
    if not value.type.is_integer:
        raise NotOnDuckDB(unproved(node))
    return Value(f"(~ {value.sql})", value.type, value.raises)


def absolute(node: exp.Abs, tr: Translator) -> Value:
    value = tr.value(node.this)
    _need_numbers("abs", value)
    _need_kept("abs", value)
    return Value(f"CAST(abs({value.sql}) AS {duck(value.type)})", value.type, value.raises or value.type.is_integer)


def power(node: exp.Pow, tr: Translator) -> Value:
    """The engines differ in the last bits, so only where the query says that an error is fine."""
    if not node.meta.get(ERROR_IS_FINE):
        raise NotOnDuckDB("a power is only supported on Spark")
    base, exponent = convert(tr.value(node.this), DOUBLE), convert(tr.value(node.expression), DOUBLE)
    return Value(f"pow({base.sql}, {exponent.sql})", DOUBLE, True)


def sign(node: exp.Sign, tr: Translator) -> Value:
    value = convert(tr.value(node.this), DOUBLE)
    # Spark gives NaN for NaN.
    return Value(
        f"CASE WHEN isnan({value.sql}) THEN {value.sql} ELSE CAST(sign({value.sql}) AS DOUBLE) END",
        DOUBLE,
        value.raises,
    )


def square_root(node: exp.Sqrt, tr: Translator) -> Value:
    value = convert(tr.value(node.this), DOUBLE)
    sql = f"CASE WHEN {value.sql} < 0 THEN CAST('nan' AS DOUBLE) ELSE sqrt({value.sql}) END"
    return Value(sql, DOUBLE, value.raises)


def whole(node: exp.Floor | exp.Ceil, tr: Translator) -> Value:
    """FLOOR and CEIL: BIGINT for integers and doubles, DECIMAL without scale for decimals."""
    only(node, "this")
    value = tr.value(node.this)
    function = "floor" if isinstance(node, exp.Floor) else "ceil"
    if value.type.is_integer:
        return convert(value, BIGINT)
    if value.type == DOUBLE:
        sql = _within(value.sql, f"CAST({function}({value.sql}) AS BIGINT)", function)
        return Value(sql, BIGINT, True)
    if value.type.name == "DECIMAL":
        if value.type.scale == 0:
            return value
        type = decimal(value.type.precision - value.type.scale + 1, 0)
        return Value(f"CAST({function}({value.sql}) AS {duck(type)})", type, value.raises)
    raise NotOnDuckDB(f"{function} of {value.type} is only supported on Spark")


def _within(sql: str, result: str, what: str) -> str:
    """`result` for doubles well within BIGINT; Spark's ways with NaN and the edges are left to Spark."""
    refuse = only_spark(f"{what} of NaN or of a number beyond BIGINT")
    return f"CASE WHEN {sql} IS NULL OR {sql} BETWEEN -9e18 AND 9e18 THEN {result} ELSE {refuse} END"


def rounded(node: exp.Round, tr: Translator) -> Value:
    """ROUND: half away from zero. Spark rounds the shortest decimal text of a double, not its binary value."""
    only(node, "this", "decimals")
    value = tr.value(node.this)
    places = 0
    if node.args.get("decimals") is not None:
        constant = tr.value(node.args["decimals"]).constant
        if not isinstance(constant, int):
            raise NotOnDuckDB("round to a number of places that is not a constant is only supported on Spark")
        places = constant
    if not 0 <= places <= 6:
        raise NotOnDuckDB(f"round to {places} places is only supported on Spark")
    if value.type.is_integer:
        return value
    if value.type.name == "DECIMAL":
        scale = min(value.type.scale, places)
        type = decimal(value.type.precision - value.type.scale + 1 + scale, scale)
        return Value(f"CAST(round({value.sql}, {places}) AS {duck(type)})", type, value.raises)
    if value.type != DOUBLE:
        raise NotOnDuckDB(f"round of {value.type} is only supported on Spark")
    if places == 0:
        return Value(f"round({value.sql})", DOUBLE, value.raises)
    # Through the text into a decimal, which rounds it as Spark does. Within +-10**(15 - places) that decimal is an
    # exact double over a power of ten; from 2**52 on a double is whole and rounds to itself; between the two, Spark.
    sql, limit = value.sql, 10 ** (15 - places)
    through = f"CAST(CAST(CAST({sql} AS VARCHAR) AS DECIMAL(18,{places})) AS DOUBLE)"
    sql = (
        f"CASE WHEN {sql} > -{limit} AND {sql} < {limit} THEN {through} "
        f"WHEN {sql} IS NULL OR {sql} >= 4503599627370496 OR {sql} <= -4503599627370496 THEN {sql} "
        f"ELSE {only_spark('round of a large number')} END"
    )
    return Value(sql, DOUBLE, True)


def cast(node: exp.Cast, tr: Translator) -> Value:
    """CAST as written by the user. (`exp.TryCast` without `safe` is how sqlglot reads Spark's plain CAST.)"""
    if node.args.get("format") or node.args.get("action") or node.args.get("default"):
        raise NotOnDuckDB("cast with a format is only supported on Spark")
    value, type = tr.value(node.this), type_of(node.to)
    return tried_cast(value, type) if node.args.get("safe") else cast_value(value, type)


def tried_cast(value: Value, type: DataType) -> Value:
    """TRY_CAST: NULL where the cast would fail. What may be read in more ways than these is left to Spark."""
    source = value.type
    if source == STRING and value.constant is not None:
        return _tried_string(value, type)
    template = _CASTS.get((_kind(source), _kind(type)))
    if template is None or source == STRING:
        return cast_value(value, type)  # a cast that cannot fail
    if (source, type) == (DOUBLE, BIGINT):
        raise NotOnDuckDB("try_cast of a DOUBLE to BIGINT is only supported on Spark")
    sql = template.format(x=value.sql, to=duck(type))
    return Value(f"TRY_{sql}" if sql.startswith("CAST(") else sql, type, value.raises)


_NO_CONTROLS = r"[^\x00-\x1f\x7f]*"
_WORDS = "'true', 't', 'yes', 'y', '1'", "'false', 'f', 'no', 'n', '0'"


def _tried_string(value: Value, type: DataType) -> Value:
    """A text without control characters is a number in one way only, blanks around it aside."""
    sql, to = value.sql, duck(type)
    bare = f"trim({sql}, ' ')"
    refuse = only_spark(f"a cast of an unusual string to {type}")
    if type.is_integer:
        found = f"CASE WHEN regexp_full_match({bare}, '[+-]?[0-9]+') THEN TRY_CAST(ltrim({bare}, '+') AS {to}) END"
        known = _NO_CONTROLS
    elif type == BOOLEAN:
        yes, no = _WORDS
        found = f"CASE WHEN lower({bare}) IN ({yes}) THEN TRUE WHEN lower({bare}) IN ({no}) THEN FALSE END"
        known = _NO_CONTROLS
    elif type == DOUBLE:  # letters may be Infinity or NaN
        known = f"{_FORMATS['DOUBLE']}|[A-HJ-MO-Za-hj-mo-z_][!-~]*|"
        found = f"CASE WHEN regexp_full_match({sql}, '{_FORMATS['DOUBLE']}') THEN TRY_CAST({sql} AS {to}) END"
    elif type in (DATE, TIMESTAMP):
        known, found = _FORMATS[type.name], f"TRY_CAST({sql} AS {to})"
    else:
        raise NotOnDuckDB(f"try_cast of a string to {type} is only supported on Spark")
    return Value(
        f"CASE WHEN {sql} IS NULL THEN NULL WHEN regexp_full_match({sql}, '{known}') THEN {found} ELSE {refuse} END",
        type,
        True,
    )


def cast_value(value: Value, type: DataType) -> Value:
    source = value.type
    if source == type:
        return value
    if source == VOID:
        return literal(None, type)
    if source == STRING:
        if isinstance(value.constant, str):
            return parse_constant(value.constant, type)
        return _parse_string(value, type)
    if isinstance(value.constant, int) and type.is_integer and source.is_integer and fits(value.constant, type):
        return literal(value.constant, type)
    template = _CASTS.get((_kind(source), _kind(type)))
    if template is None:
        return convert(value, type)
    if source.name == "DECIMAL" and type == STRING and source.precision == source.scale:
        # DuckDB writes no 0 before the point of a number that cannot have one.
        value = convert(value, decimal(source.precision + 1, source.scale))
    raises = value.raises or type.is_integer or type.name == "DECIMAL" or "error(" in template
    return Value(template.format(x=value.sql, to=duck(type)), type, raises)


def _kind(type: DataType) -> str:
    return "INTEGER" if type.is_integer else type.name


_PLAIN = "CAST({x} AS {to})"
# Before the year 1 and after 9999 the engines write years in ways of their own.
_LATE = only_spark("a text of a day outside of the years 1 to 9999")
_WRITTEN_DATE = (
    "CASE WHEN {x} IS NULL OR {x} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' "
    f"THEN CAST({{x}} AS VARCHAR) ELSE {_LATE} END"
)
_WRITTEN_TIME = (
    "CASE WHEN {x} IS NULL OR ({x} >= TIMESTAMP '0001-01-01' AND {x} < TIMESTAMP '10000-01-01') "
    f"THEN CAST(CAST({{x}} AS TIMESTAMP) AS VARCHAR) ELSE {_LATE} END"
)
# DuckDB rounds where Spark truncates; a TIMESTAMP's seconds count from 1970 rounded down (as whole numbers: a DOUBLE cannot hold
# all microseconds).
_SECONDS = "CAST((epoch_us({x}) - (epoch_us({x}) % 1000000 + 1000000) % 1000000) // 1000000 AS {to})"
_CASTS = {
    ("INTEGER", "INTEGER"): _PLAIN,
    ("INTEGER", "STRING"): _PLAIN,
    ("INTEGER", "DECIMAL"): _PLAIN,
    ("INTEGER", "BOOLEAN"): "({x} <> 0)",
    ("DOUBLE", "INTEGER"): "CAST(trunc({x}) AS {to})",
    ("DECIMAL", "INTEGER"): "CAST(trunc({x}) AS {to})",
    ("DECIMAL", "DECIMAL"): _PLAIN,
    ("DECIMAL", "STRING"): _PLAIN,
    ("BOOLEAN", "INTEGER"): _PLAIN,
    ("BOOLEAN", "STRING"): _PLAIN,
    ("DATE", "STRING"): _WRITTEN_DATE,
    ("TIMESTAMP", "DATE"): _PLAIN,
    ("TIMESTAMP", "STRING"): _WRITTEN_TIME,
    ("TIMESTAMP", "INTEGER"): _SECONDS,
}

# What both engines read alike; anything else (blanks, points, letters, too many digits) is left to Spark.
_FORMATS = {
    "TINYINT": "-?[0-9]{1,2}",
    "SMALLINT": "-?[0-9]{1,4}",
    "INT": "-?[0-9]{1,9}",
    "BIGINT": "-?[0-9]{1,18}",
    "DOUBLE": r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]{1,2})?",
    "BOOLEAN": "true|false",
    "DATE": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "TIMESTAMP": r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?",
}


def _parse_string(value: Value, type: DataType) -> Value:
    form = _FORMATS.get(type.name)
    if form is None:
        raise NotOnDuckDB(f"a cast of a string to {type} is only supported on Spark")
    sql = (
        f"CASE WHEN {value.sql} IS NULL OR regexp_full_match({value.sql}, '{form}') "
        f"THEN CAST({value.sql} AS {duck(type)}) ELSE {only_spark(f'a cast of an unusual string to {type}')} END"
    )
    return Value(sql, type, True)


def from_seconds(node: exp.Anonymous, tr: Translator) -> Value:
    (value,) = tr.values(_arguments(node, 1))
    if not value.type.is_integer:
        raise NotOnDuckDB(unproved(node))
    return Value(f"make_timestamp(CAST({value.sql} AS BIGINT) * 1000000)", TIMESTAMP, True)


def _arguments(node: exp.Anonymous, count: int) -> list[exp.Expression]:
    found: list[exp.Expression] = node.expressions
    if len(found) != count:
        raise NotOnDuckDB(unproved(node))
    return found


RULES: dict[type[exp.Expression], Rule] = {
    exp.Literal: written,
    exp.RawString: raw_text,
    exp.Null: null,
    exp.Boolean: truth,
    exp.Neg: negation,
    exp.Add: arithmetic,
    exp.Sub: arithmetic,
    exp.Mul: arithmetic,
    exp.Div: division,
    exp.IntDiv: whole_division,
    exp.Mod: remainder,
    exp.BitwiseAnd: bits,
    exp.BitwiseOr: bits,
    exp.BitwiseXor: bits,
    exp.BitwiseNot: bits_flipped,
    exp.Abs: absolute,
    exp.Sign: sign,
    exp.Sqrt: square_root,
    exp.Pow: power,
    exp.Floor: whole,
    exp.Ceil: whole,
    exp.Round: rounded,
    exp.Cast: cast,
    exp.TryCast: cast,
}

FUNCTIONS: dict[str, Rule] = {
    "pmod": positive_remainder,
    "timestamp_seconds": from_seconds,
}
