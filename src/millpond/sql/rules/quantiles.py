"""Percentiles, medians and modes.

The values of a group are put into a sorted list, and Spark's arithmetic is done on it: DuckDB's own quantiles interpolate with
another formula and end some bits off.

PERCENTILE_APPROX is exact here. Spark's own answer is exact, and the same, for groups of fewer than accuracy / 2 rows; beyond it
depends on how rows are spread over partitions, and is within the error that its accuracy allows. So is the exact one.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from millpond.sql.rules.arguments import Aggregate, argument, filtered_by, no_window
from millpond.sql.rules.picks import orderable
from millpond.sql.rules.terms import (
    BIGINT,
    DOUBLE,
    TIMESTAMP,
    NotOnDuckDB,
    Translator,
    Value,
    only,
    unproved,
)
from millpond.sql.rules.types import convert

_ACCURACY = 10_000  # Spark's default
_LARGEST = 2**63 - 1


def _sorted(prefix: str, value: Value, keep: Value | None, *, back: bool = False) -> str:
    """The values that are not NULL as a sorted list; NULL if there are none."""
    way = "DESC" if back else "ASC"
    return f"list({prefix}{value.sql} ORDER BY {value.sql} {way}){filtered_by(keep, f'{value.sql} IS NOT NULL')}"


def _share(node: exp.Expression, tr: Translator) -> float:
    constant = tr.value(node).constant
    if isinstance(constant, bool) or not isinstance(constant, (int, float, Decimal)) or not 0 <= constant <= 1:
        raise NotOnDuckDB("a percentile at anything but a constant from 0 to 1 is only supported on Spark")
    return float(constant)


def _number(value: Value) -> Value:
    """A value whose percentiles are DOUBLEs."""
    if not (value.type.is_integer or value.type.name in ("DOUBLE", "DECIMAL")):
        raise NotOnDuckDB(f"a percentile of {value.type} is only supported on Spark")
    convert(value, DOUBLE)  # refuses a DECIMAL that is not exact as a DOUBLE
    return value


def _of_list(listed: str, found: str) -> str:
    """`found`, said of the list `l`, in place of the list's text, which would be repeated again and again."""
    return f"list_transform([{listed}], lambda l: {found})[1]"


def _between(listed: str, value: Value, share: float) -> Value:
    """Where two values are neighbours of the place, it is between them in proportion."""
    place = f"((len(l) - 1) * {_double(share)})"
    low, high = (f"l[CAST({f}({place}) AS BIGINT) + 1]" for f in ("floor", "ceil"))
    a, b = (convert(Value(each, value.type), DOUBLE).sql for each in (low, high))
    sql = f"CASE WHEN {low} = {high} THEN {a} ELSE {a} + ({place} - floor({place})) * ({b} - {a}) END"
    return Value(_of_list(listed, sql), DOUBLE, value.raises)


def percentile(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """PERCENTILE(value, share) and MEDIAN(value)."""
    no_window("percentile", suffix)
    only(node, "this", "quantile")
    share = 0.5 if isinstance(node, exp.Median) else _share(node.args["quantile"], tr)
    prefix, value = argument(node, tr, keep)
    value = _number(value)
    return _between(_sorted(prefix, value, keep), value, share)


def within_group(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """PERCENTILE_CONT, PERCENTILE_DISC and MODE, WITHIN GROUP (ORDER BY value)."""
    function, order = node.this, node.expression
    name = function.key
    no_window(name, suffix)
    only(node, "this", "expression")
    only(order, "expressions")
    if len(order.expressions) != 1:
        raise NotOnDuckDB(f"{name} in the order of several values is only supported on Spark")
    (item,) = order.expressions
    value, back = tr.value(item.this), bool(item.args.get("desc"))
    if keep is not None and value.raises:
        raise NotOnDuckDB("an argument that can fail behind a FILTER is only supported on Spark")
    if isinstance(function, exp.Mode):
        only(function)
        return _mode(value, keep, back=back)
    if not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)):
        raise NotOnDuckDB(unproved(function))
    only(function, "this")
    share, value = _share(function.this, tr), _number(value)
    listed = _sorted("", value, keep, back=back)
    if isinstance(function, exp.PercentileCont):
        return _between(listed, value, share)
    found = _of_list(listed, f"l[{_rank(share)}]")
    return Value(convert(Value(found, value.type), DOUBLE).sql, DOUBLE, value.raises)


def _rank(share: float) -> str:
    return f"greatest(CAST(ceil({_double(share)} * len(l)) AS BIGINT), 1)"


def _double(number: float) -> str:
    written = repr(number)
    return written if "e" in written else f"{written}e0"


def approximate(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """PERCENTILE_APPROX and APPROX_PERCENTILE: a value of the group. Spark holds all values as DOUBLEs."""
    no_window("percentile_approx", suffix)
    only(node, "this", "quantile", "accuracy")
    share = _share(node.args["quantile"], tr)
    given = node.args.get("accuracy")
    accuracy = tr.value(given).constant if given is not None else _ACCURACY
    if not isinstance(accuracy, int) or isinstance(accuracy, bool) or not 0 < accuracy < 2**31:
        raise NotOnDuckDB("percentile_approx with such an accuracy is only supported on Spark")
    prefix, value = argument(node, tr, keep)
    if not (value.type.is_integer or value.type.name in ("DOUBLE", "DECIMAL", "DATE", "TIMESTAMP")):
        raise NotOnDuckDB(f"percentile_approx of {value.type} is only supported on Spark")
    if value.type.name == "DECIMAL":
        convert(value, DOUBLE)  # refuses one that is not exact as a DOUBLE
    listed = _sorted(prefix, value, keep)
    if share <= 1 / accuracy:
        place = "1"
    elif share >= 1 - 1 / accuracy:
        place = "-1"
    else:
        place = _rank(share)
    found = _of_list(listed, f"l[{place}]")
    if value.type == BIGINT:
        number = f"CAST({found} AS DOUBLE)"
        found = f"CASE WHEN {number} >= {_LARGEST} THEN {_LARGEST} ELSE CAST({number} AS BIGINT) END"
    elif value.type == TIMESTAMP:
        found = f"make_timestamp(CAST(CAST(epoch_us({found}) AS DOUBLE) AS BIGINT))"
    return Value(found, value.type, value.raises)


def mode(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """MODE(value): of values that are equally frequent the smallest; in Spark any, or the smallest when asked for."""
    no_window("mode", suffix)
    only(node, "this", "deterministic")
    prefix, value = argument(node, tr, keep)
    if prefix:
        raise NotOnDuckDB("mode of distinct values is only supported on Spark")
    return _mode(value, keep, back=False)


def _mode(value: Value, keep: Value | None, *, back: bool) -> Value:
    if not orderable(value):
        raise NotOnDuckDB(f"mode of {value.type} is only supported on Spark")
    way, filter = "DESC" if back else "ASC", filtered_by(keep, f"{value.sql} IS NOT NULL")
    if value.type == DOUBLE:  # by itself DuckDB takes every NaN for another value
        sql = f"struct_extract(mode(struct_pack(v := {value.sql} + 0e0) ORDER BY {value.sql} {way}){filter}, 'v')"
    else:
        sql = f"mode({value.sql} ORDER BY {value.sql} {way}){filter}"
    return Value(sql, value.type, value.raises)


AGGREGATES: dict[type[exp.Expression], Aggregate] = {
    exp.Quantile: percentile,
    exp.Median: percentile,
    exp.WithinGroup: within_group,
    exp.ApproxQuantile: approximate,
    exp.Mode: mode,
}
