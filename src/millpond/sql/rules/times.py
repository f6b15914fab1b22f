"""Dates, timestamps and intervals. Both sessions are in UTC, so no rule has to think of time zones.

DuckDB's parts are BIGINT where Spark's are INT, and a DATE plus an INTERVAL is a TIMESTAMP there; casts put it right.
"""

from __future__ import annotations

import re

from sqlglot import exp

from millpond.sql.rules.terms import (
    BIGINT,
    DATE,
    INSTANT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    NotOnDuckDB,
    Rule,
    Translator,
    Value,
    only,
    only_spark,
    type_of,
    unproved,
)
from millpond.sql.rules.types import convert, parse_constant

_DATE_UNITS = {"YEAR", "MONTH", "WEEK", "DAY"}
_UNITS = {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"}
_FINE_UNITS = {"MILLISECOND", "MICROSECOND"}
_WHOLE = re.compile(r"[+-]?\d{1,6}")

# How DuckDB says the part that Spark's function gives.
_PARTS = {
    "YEAR": "year({x})",
    "QUARTER": "quarter({x})",
    "MONTH": "month({x})",
    "WEEK": "week({x})",
    "DAY": "day({x})",
    "DAYOFMONTH": "day({x})",
    "DAYOFYEAR": "dayofyear({x})",
    "DOY": "dayofyear({x})",
    "DAYOFWEEK": "(dayofweek({x}) + 1)",  # Sunday is 1 in Spark, 0 in DuckDB
    "DOW": "(dayofweek({x}) + 1)",
    "WEEKDAY": "(isodow({x}) - 1)",  # Monday is 0 in Spark
    "HOUR": "hour({x})",
    "MINUTE": "minute({x})",
    "SECOND": "second({x})",
}
_CLOCK_PARTS = {"HOUR", "MINUTE", "SECOND"}


def interval_of(node: exp.Expression) -> tuple[int, str] | None:
    """A constant interval of one unit as (count, unit), or None when `node` is not an interval."""
    if not isinstance(node, exp.Interval):
        return None
    unit = node.args.get("unit")
    count = node.this
    if not (isinstance(unit, exp.Var) and isinstance(count, exp.Literal) and _WHOLE.fullmatch(count.name)):
        raise NotOnDuckDB("an interval of several units is only supported on Spark")
    name = unit.name.upper().removesuffix("S")
    if name not in _DATE_UNITS and name not in _CLOCK_PARTS and name not in _FINE_UNITS:
        raise NotOnDuckDB(f"an interval in {name} is only supported on Spark")
    return int(count.name), name


def interval_sql(interval: tuple[int, str]) -> str:
    return f"INTERVAL '{interval[0]} {interval[1]}'"


def add_interval(value: Value, symbol: str, interval: tuple[int, str]) -> Value:
    sql = f"({value.sql} {symbol} {interval_sql(interval)})"
    if value.type == TIMESTAMP:
        return Value(sql, TIMESTAMP, value.raises)
    if value.type == DATE:
        if interval[1] in _DATE_UNITS:
            return Value(f"CAST({sql} AS DATE)", DATE, value.raises)
        return Value(sql, TIMESTAMP, value.raises)
    raise NotOnDuckDB(f"{value.type} {symbol} interval is only supported on Spark")


def _as_date(value: Value) -> Value:
    if value.type == DATE:
        return value
    if value.type == TIMESTAMP:
        return Value(f"CAST({value.sql} AS DATE)", DATE, value.raises)
    if value.type == STRING and isinstance(value.constant, str):
        return parse_constant(value.constant, DATE)
    raise NotOnDuckDB(f"taking {value.type} for a date is only supported on Spark")


def to_date(node: exp.TsOrDsToDate, tr: Translator) -> Value:
    only(node, "this", "safe")
    return _as_date(tr.value(node.this))


_MOST_DAYS = 10_000_000
_MINUS_ONE = exp.Neg(this=exp.Literal.number(1))


def add_days(date: Value, symbol: str, days: Value) -> Value:
    """A date and a number of days. With a very large number Spark goes round from the end of time to its beginning."""
    raises = date.raises or days.raises
    sql = f"({date.sql} {symbol} {days.sql})"
    if isinstance(days.constant, int):
        if abs(days.constant) > _MOST_DAYS:
            raise NotOnDuckDB("a date plus so many days is only supported on Spark")
        return Value(sql, DATE, raises)
    if days.type in (TINYINT, SMALLINT):
        return Value(sql, DATE, raises)
    within = f"{days.sql} IS NULL OR {days.sql} BETWEEN -{_MOST_DAYS} AND {_MOST_DAYS}"
    return Value(f"CASE WHEN {within} THEN {sql} ELSE {only_spark('a date plus very many days')} END", DATE, True)


def date_add(node: exp.TsOrDsAdd, tr: Translator) -> Value:
    """`date_add` and `date_sub`."""
    if node.text("unit").upper() != "DAY":
        raise NotOnDuckDB(unproved(node))
    symbol, days = "+", node.expression
    if isinstance(days, exp.Mul) and days.expression == _MINUS_ONE:  # how sqlglot reads date_sub
        symbol, days = "-", days.this
    return add_days(_as_date(tr.value(node.this)), symbol, convert(tr.value(days), INT))


def add_months(node: exp.AddMonths, tr: Translator) -> Value:
    only(node, "this", "expression")
    date, months = _as_date(tr.value(node.this)), convert(tr.value(node.expression), INT)
    if not isinstance(months.constant, int):
        raise NotOnDuckDB("add_months of a number that is not a constant is only supported on Spark")
    return Value(f"CAST({date.sql} + INTERVAL '{months.constant} MONTH' AS DATE)", DATE, date.raises)


def days_between(node: exp.DateDiff, tr: Translator) -> Value:
    only(node, "this", "expression")
    end, start = _as_date(tr.value(node.this)), _as_date(tr.value(node.expression))
    return Value(f"CAST({end.sql} - {start.sql} AS INTEGER)", INT, end.raises or start.raises)


def part(node: exp.Func, tr: Translator) -> Value:
    """`year(x)`, `hour(x)` and the like."""
    return _part(node.key.upper().replace("WEEKOFYEAR", "WEEK"), tr.value(node.this))


def extract(node: exp.Extract, tr: Translator) -> Value:
    name = node.this.name.upper()
    if name == "SECOND":
        raise NotOnDuckDB("extract(second) is a decimal in Spark and only proved there")
    return _part(name, tr.value(node.expression))


def weekday(node: exp.Anonymous, tr: Translator) -> Value:
    if len(node.expressions) != 1:
        raise NotOnDuckDB(unproved(node))
    return _part("WEEKDAY", tr.value(node.expressions[0]))


def _part(name: str, value: Value) -> Value:
    template = _PARTS.get(name)
    if template is None or value.type not in (DATE, TIMESTAMP):
        raise NotOnDuckDB(f"{name.lower()} of {value.type} is only supported on Spark")
    if name in _CLOCK_PARTS:
        value = convert(value, TIMESTAMP)
    return Value(f"CAST({template.format(x=value.sql)} AS INTEGER)", INT, value.raises)


def truncate_time(node: exp.TimestampTrunc, tr: Translator) -> Value:
    unit = node.text("unit").upper()
    value = convert(tr.value(node.this), TIMESTAMP)
    if unit not in _UNITS:
        raise NotOnDuckDB(f"date_trunc to {unit} is only supported on Spark")
    return Value(f"CAST(date_trunc('{unit.lower()}', {value.sql}) AS TIMESTAMP)", TIMESTAMP, value.raises)


def truncate_date(node: exp.DateTrunc, tr: Translator) -> Value:
    unit = {"MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR"}.get(
        node.text("unit").upper(), node.text("unit").upper()
    )
    if unit not in ("YEAR", "QUARTER", "MONTH", "WEEK"):
        raise NotOnDuckDB(f"trunc to {unit} is only supported on Spark")
    value = _as_date(tr.value(node.this))
    return Value(f"CAST(date_trunc('{unit.lower()}', {value.sql}) AS DATE)", DATE, value.raises)


def last_day(node: exp.LastDay, tr: Translator) -> Value:
    only(node, "this")
    value = _as_date(tr.value(node.this))
    return Value(f"last_day({value.sql})", DATE, value.raises)


def make_date(node: exp.Anonymous, tr: Translator) -> Value:
    values = [convert(value, INT) for value in tr.values(node.expressions)]
    if len(values) != 3:
        raise NotOnDuckDB(unproved(node))
    return Value(f"make_date({', '.join(value.sql for value in values)})", DATE, True)


def epoch_seconds(node: exp.StrToUnix, tr: Translator) -> Value:
    value = tr.value(node.this) if node.this else None
    if value is None or value.type not in (DATE, TIMESTAMP):
        raise NotOnDuckDB("unix_timestamp of anything but a timestamp is only supported on Spark")
    value = convert(value, TIMESTAMP)
    # Towards zero, where a cast rounds down: -0.5 s are 0.
    return Value(f"(epoch_us({value.sql}) // 1000000)", BIGINT, value.raises)


def epoch_micros(node: exp.UnixMicros, tr: Translator) -> Value:
    value = tr.value(node.this)
    if value.type != TIMESTAMP:
        raise NotOnDuckDB("unix_micros of anything but a timestamp is only supported on Spark")
    return Value(f"epoch_us({value.sql})", BIGINT, value.raises)


def from_micros(node: exp.Anonymous, tr: Translator) -> Value:
    """`timestamp_micros`: whole numbers of any type."""
    if len(node.expressions) != 1:
        raise NotOnDuckDB(unproved(node))
    value = tr.value(node.expressions[0])
    if not value.type.is_integer:
        raise NotOnDuckDB(f"timestamp_micros of {value.type} is only supported on Spark")
    return Value(f"make_timestamptz({convert(value, BIGINT).sql})", TIMESTAMP, value.raises)  # as a column is


def epoch_days(node: exp.UnixDate, tr: Translator) -> Value:
    value = tr.value(node.this)
    if value.type != DATE:
        raise NotOnDuckDB(unproved(node))
    return Value(f"CAST({value.sql} - DATE '1970-01-01' AS INTEGER)", INT, value.raises)


def instant(node: exp.Placeholder, tr: Translator) -> Value:
    """The instant of the query, in the table's unit: a whole number, or microseconds since 1970."""
    if type_of(node.type) == BIGINT:
        return Value(f"CAST({INSTANT} AS BIGINT)", BIGINT)
    return Value(f"make_timestamp(CAST({INSTANT} AS BIGINT))", TIMESTAMP)


RULES: dict[type[exp.Expression], Rule] = {
    exp.Placeholder: instant,
    exp.TsOrDsToDate: to_date,
    exp.TsOrDsAdd: date_add,
    exp.AddMonths: add_months,
    exp.DateDiff: days_between,
    exp.Year: part,
    exp.Quarter: part,
    exp.Month: part,
    exp.WeekOfYear: part,
    exp.Day: part,
    exp.DayOfMonth: part,
    exp.DayOfYear: part,
    exp.DayOfWeek: part,
    exp.Hour: part,
    exp.Minute: part,
    exp.Second: part,
    exp.Extract: extract,
    exp.TimestampTrunc: truncate_time,
    exp.DateTrunc: truncate_date,
    exp.LastDay: last_day,
    exp.StrToUnix: epoch_seconds,
    exp.UnixDate: epoch_days,
    exp.UnixMicros: epoch_micros,
}

FUNCTIONS: dict[str, Rule] = {"make_date": make_date, "weekday": weekday, "timestamp_micros": from_micros}
