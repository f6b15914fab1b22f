"""Aggregates, with FILTER and OVER, and the window functions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millpond.sql.rules import arrays, picks, quantiles
from millpond.sql.rules.arguments import Aggregate, argument, behind, direction, filtered_by, no_window
from millpond.sql.rules.conditions import condition
from millpond.sql.rules.functions import arguments, call
from millpond.sql.rules.terms import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    TIMESTAMP,
    TINYINT,
    VOID,
    NotOnDuckDB,
    Rule,
    Translator,
    Value,
    duck,
    only,
    unproved,
)
from millpond.sql.rules.times import interval_of, interval_sql
from millpond.sql.rules.types import convert, decimal


def count(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    only(node, "this", "big_int")
    if isinstance(node.this, exp.Distinct) and len(node.this.expressions) > 1:
        # Spark counts the combinations in which nothing is NULL; a DuckDB row with a NULL in it is itself not NULL.
        values = [behind(keep, value) for value in tr.values(node.this.expressions)]
        present = " AND ".join(f"{value.sql} IS NOT NULL" for value in values)
        row = f"row({', '.join(value.sql for value in values)})"
        sql = f"count(DISTINCT CASE WHEN {present} THEN {row} END){suffix}"
        return Value(sql, BIGINT, any(value.raises for value in values))
    if isinstance(node.this, exp.Star):
        return Value(f"count(*){suffix}", BIGINT)
    prefix, value = argument(node, tr, keep)
    return Value(f"count({prefix}{value.sql}){suffix}", BIGINT, value.raises)


def count_if(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    only(node, "this")
    value = behind(keep, condition(node.this, tr))
    return Value(f"count(CASE WHEN {value.sql} THEN 1 END){suffix}", BIGINT, value.raises)


def total(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    only(node, "this")
    prefix, value = argument(node, tr, keep)
    call = f"sum({prefix}{value.sql}){suffix}"
    if value.type.is_integer:
        # DuckDB adds up in HUGEINT; the cast raises where Spark's BIGINT overflows.
        return Value(f"CAST({call} AS BIGINT)", BIGINT, True)
    if value.type == DOUBLE:
        return Value(call, DOUBLE, value.raises)
    if value.type.name == "DECIMAL":
        type = decimal(value.type.precision + 10, value.type.scale)
        return Value(f"CAST({call} AS {duck(type)})", type, True)
    raise NotOnDuckDB(f"sum of {value.type} is only supported on Spark")


def average(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    only(node, "this")
    prefix, value = argument(node, tr, keep)
    if value.type.name == "DECIMAL":
        return _average_of_decimals(prefix, value, suffix)
    if not (value.type.is_integer or value.type == DOUBLE):
        raise NotOnDuckDB(f"avg of {value.type} is only supported on Spark")
    # Spark divides a DOUBLE sum by the count. DuckDB's own avg goes through a wider float and can end one bit off.
    given = f"CAST({value.sql} AS DOUBLE)" if value.type == BIGINT else value.sql
    sql = f"(CAST(sum({prefix}{given}){suffix} AS DOUBLE) / count({prefix}{given}){suffix})"
    return Value(sql, DOUBLE, value.raises)


def _average_of_decimals(prefix: str, value: Value, suffix: str) -> Value:
    """Four more places, half away from zero. Done in whole numbers, which fit HUGEINT for as many digits as are allowed here."""
    precision, scale = value.type.precision, value.type.scale
    if precision > 23 or precision + scale > 30:
        raise NotOnDuckDB(f"avg of {value.type} is only supported on Spark")
    type = decimal(precision + 4, scale + 4)
    total = f"sum({prefix}CAST(CAST({value.sql} AS DECIMAL(38,{scale})) * {10**scale} AS HUGEINT)){suffix}"
    count = f"nullif(count({prefix}{value.sql}){suffix}, 0)"
    found = f"sign({total}) * ((abs({total}) * 20000 + {count}) // (2 * {count}))"
    place = f"CAST(1e-{type.scale} AS DECIMAL({type.scale},{type.scale}))"
    return Value(f"CAST(CAST({found} AS DECIMAL({type.precision},0)) * {place} AS {duck(type)})", type, True)


_SPREADS: dict[type[exp.Expression], str] = {
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.CovarSamp: "covar_samp",
    exp.CovarPop: "covar_pop",
    exp.Corr: "corr",
}


def spread(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """Deviations and what is like them. Spark goes through DOUBLEs one by one and joins parts, so its last bits hang on the
    order, as those of sums do; more of them the further the numbers are from zero."""
    name = _SPREADS[node.__class__]
    no_window(name, suffix)
    only(node, "this", "expression")
    prefix, value = argument(node, tr, keep)
    values = [value]
    if node.args.get("expression") is not None:
        values.append(behind(keep, tr.value(node.expression)))
    for each in values:
        if not (each.type.is_integer or each.type.name in ("FLOAT", "DOUBLE")):
            raise NotOnDuckDB(f"{name} of {each.type} is only supported on Spark")
    texts = [convert(each, DOUBLE).sql for each in values]
    sql = f"{name}({prefix}{', '.join(texts)}){suffix}"
    if len(texts) == 1:
        sql = _stable(name, prefix, texts[0], suffix)
    if name == "corr":  # with a constant Spark gives NULL, and DuckDB NaN
        x, y = texts
        alike = " OR ".join(f"{f}({y}, {x}){suffix} = 0" for f in ("regr_sxx", "regr_syy"))
        sql = f"CASE WHEN {alike} THEN NULL ELSE {sql} END"
    return Value(sql, DOUBLE, any(each.raises for each in values))


def _stable(name: str, prefix: str, x: str, suffix: str) -> str:
    """A deviation of numbers moved to near zero: DuckDB's own is off in the ninth digit for numbers near 1e8. One that is not
    finite makes it NaN, where DuckDB raises; one number alone has no deviation of a sample."""
    least = 2 if name.endswith("_samp") else 1
    moved = f"list_transform(list({prefix}{x}){suffix}, lambda v: v - min({x}){suffix})"
    return (
        f"CASE WHEN count({prefix}{x}){suffix} < {least} THEN NULL "
        f"WHEN bool_or(NOT isfinite({x})){suffix} THEN CAST('NaN' AS DOUBLE) ELSE list_aggregate({moved}, '{name}') END"
    )


def extreme(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    only(node, "this")
    prefix, value = argument(node, tr, keep)
    if not picks.orderable(value):
        raise NotOnDuckDB(f"{node.key} of {value.type} is only supported on Spark")
    return Value(f"{node.key}({prefix}{value.sql}){suffix}", value.type, value.raises)


def all_or_any(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    every = isinstance(node, exp.LogicalAnd) or node.name.lower() == "every"
    inner = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    value = behind(keep, condition(inner, tr))
    return Value(f"{'bool_and' if every else 'bool_or'}({value.sql}){suffix}", BOOLEAN, value.raises)


def of_user(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """A user's aggregate: a function over the lists of its arguments, in the order that stands behind them.

    Rows equal in that order are told apart by the arguments, so the lists are the same whatever the engine meets first.
    """
    function = tr.user.get(node.name.lower())
    if function is None:
        raise NotOnDuckDB(unproved(node))
    *given, order = node.expressions
    values = [behind(keep, value) for value in arguments(function, node, given, tr)]
    keys = [tr.value(item.this).sql + direction(item) for item in order.expressions]
    keys += [f"{value.sql} ASC NULLS FIRST" for value in values if not value.is_constant]
    conditions = [] if function.nulls else [f"{value.sql} IS NOT NULL" for value in values]
    if keep is not None:
        suffix = suffix.removeprefix(f" FILTER (WHERE {keep.sql})")
    filter = filtered_by(keep, *conditions)
    by = f" ORDER BY {', '.join(keys)}" if keys else ""
    return call(function, [f"list({value.sql}{by}){filter}{suffix}" for value in values])


_AGGREGATES: dict[type[exp.Expression], Aggregate] = {
    exp.AnonymousAggFunc: of_user,
    exp.Count: count,
    exp.CountIf: count_if,
    exp.Sum: total,
    exp.Avg: average,
    **dict.fromkeys(_SPREADS, spread),
    exp.Min: extreme,
    exp.Max: extreme,
    exp.LogicalAnd: all_or_any,
    exp.LogicalOr: all_or_any,
    **picks.AGGREGATES,
    **quantiles.AGGREGATES,
    **arrays.AGGREGATES,
}


def aggregate(node: exp.Expression, tr: Translator) -> Value:
    return _AGGREGATES[node.__class__](node, tr, "", None)


def filtered(node: exp.Filter, tr: Translator) -> Value:
    return _filtered(node, tr, "")


def _filtered(node: exp.Filter, tr: Translator, suffix: str) -> Value:
    rule = _AGGREGATES.get(node.this.__class__)
    if rule is None:
        raise NotOnDuckDB(unproved(node.this))
    keep = condition(node.expression.this, tr)
    return rule(node.this, tr, f" FILTER (WHERE {keep.sql}){suffix}", keep)


def grouping(node: exp.Grouping, tr: Translator) -> Value:
    if len(node.expressions) != 1 or not tr.scope.grouping_sets:
        raise NotOnDuckDB("such a grouping is only supported on Spark")
    return Value(f"CAST(GROUPING({tr.value(node.expressions[0]).sql}) AS TINYINT)", TINYINT)


def grouping_id(node: exp.GroupingId, tr: Translator) -> Value:
    keys = tr.scope.group_keys
    asked = tuple(value.sql for value in tr.values(node.expressions))
    if keys is None or not tr.scope.grouping_sets or (asked and asked != keys):
        raise NotOnDuckDB("such a grouping_id is only supported on Spark")
    return Value(f"CAST(GROUPING({', '.join(keys)}) AS BIGINT)", BIGINT)


# -- windows -----------------------------------------------------------------------------------------------------------

_RANKS: dict[type[exp.Expression], tuple[str, str]] = {
    exp.RowNumber: ("row_number", "INTEGER"),
    exp.Rank: ("rank", "INTEGER"),
    exp.DenseRank: ("dense_rank", "INTEGER"),
    exp.PercentRank: ("percent_rank", "DOUBLE"),
    exp.CumeDist: ("cume_dist", "DOUBLE"),
}
_PICKS: dict[type[exp.Expression], str] = {
    exp.FirstValue: "first_value",
    exp.First: "first_value",
    exp.LastValue: "last_value",
    exp.Last: "last_value",
}


def window(node: Any, tr: Translator) -> Value:
    only(node, "this", "partition_by", "order", "spec", "over", "alias")
    function, nulls = node.this, ""
    node = _definition(node, tr)
    if isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
        nulls = " IGNORE NULLS" if isinstance(function, exp.IgnoreNulls) else ""
        function = function.this
    if isinstance(function, exp.Filter):
        return _filtered(function, tr, f" OVER {_over(node, tr)}")
    kind = function.__class__
    rule = _AGGREGATES.get(kind) if kind not in _PICKS else None
    if rule is not None:
        if nulls or function.find(exp.Distinct):
            raise NotOnDuckDB(f"such a window function {function.key} is only supported on Spark")
        return rule(function, tr, f" OVER {_over(node, tr)}", None)
    if kind in _RANKS:
        name, to = _RANKS[kind]
        if not node.args.get("order"):
            raise NotOnDuckDB(f"{name} without an order is only supported on Spark")
        if function.args.get("expressions") or nulls:
            raise NotOnDuckDB(unproved(function))
        return Value(f"CAST({name}() OVER {_over(node, tr)} AS {to})", INT if to == "INTEGER" else DOUBLE)
    if kind is exp.Ntile:
        buckets = tr.value(function.this).constant
        if not isinstance(buckets, int) or buckets < 1 or not node.args.get("order"):
            raise NotOnDuckDB("such an ntile is only supported on Spark")
        return Value(f"CAST(ntile({buckets}) OVER {_over(node, tr)} AS INTEGER)", INT)
    if kind in (exp.Lag, exp.Lead):
        return _shifted(function, nulls, node, tr)
    if kind in _PICKS:
        only(function, "this")
        value = tr.value(function.this)
        return Value(f"{_PICKS[kind]}({value.sql}{nulls}) OVER {_over(node, tr)}", value.type, value.raises)
    if kind is exp.NthValue and not nulls:
        only(function, "this", "offset")
        value, place = tr.value(function.this), tr.value(function.args["offset"]).constant
        if isinstance(place, int) and place > 0:
            return Value(f"nth_value({value.sql}, {place}) OVER {_over(node, tr)}", value.type, value.raises)
    raise NotOnDuckDB(unproved(function))


def _shifted(function: exp.Expression, nulls: str, node: exp.Expression, tr: Translator) -> Value:
    """LAG and LEAD. They know no frame, so one written is refused by Spark too."""
    only(function, "this", "offset", "default")
    value = tr.value(function.this)
    if value.type == VOID:
        raise NotOnDuckDB("lag of NULL is only supported on Spark")
    offset = tr.value(function.args["offset"]).constant if function.args.get("offset") is not None else 1
    if not isinstance(offset, int) or offset < 0 or node.args.get("spec") or not node.args.get("order"):
        raise NotOnDuckDB(f"such a {function.key} is only supported on Spark")
    arguments = f"{value.sql}, {offset}"
    if function.args.get("default") is not None:
        default = convert(tr.value(function.args["default"]), value.type)
        arguments += f", {default.sql}"
    return Value(f"{function.key}({arguments}{nulls}) OVER {_over(node, tr)}", value.type, value.raises)


def _definition(node: exp.Window, tr: Translator) -> exp.Expression:
    """The window of `OVER (...)`, or the one that `OVER w` names."""
    alias = node.args.get("alias")
    if alias is None:
        return node
    named = tr.scope.windows.get(alias.name.lower())
    if named is None or named.args.get("alias") or any(node.args.get(key) for key in ("partition_by", "order", "spec")):
        raise NotOnDuckDB("a named window built on another is only supported on Spark")
    return named


def _over(node: exp.Expression, tr: Translator) -> str:
    """What follows OVER: partition, order with Spark's place for NULLs, frame."""
    parts = []
    if node.args.get("partition_by"):
        parts.append("PARTITION BY " + ", ".join(value.sql for value in tr.values(node.args["partition_by"])))
    keys: list[Value] = []
    order = node.args.get("order")
    if order is not None:
        items = []
        for item in order.expressions:
            key = tr.value(item.this)
            if key.is_constant:
                raise NotOnDuckDB("a window ordered by a constant is only supported on Spark")
            keys.append(key)
            items.append(key.sql + direction(item))
        parts.append("ORDER BY " + ", ".join(items))
    if node.args.get("spec") is not None:
        parts.append(_frame(node.args["spec"], keys, tr))
    return f"({' '.join(parts)})"


def _frame(spec: exp.WindowSpec, keys: list[Value], tr: Translator) -> str:
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = spec.text("kind").upper()
    if kind not in ("ROWS", "RANGE"):
        raise NotOnDuckDB(f"a frame of {kind} is only supported on Spark")
    start = _bound(spec, "start", kind, keys)
    end = _bound(spec, "end", kind, keys) if spec.args.get("end") is not None else "CURRENT ROW"
    return f"{kind} BETWEEN {start} AND {end}"


def _bound(spec: exp.WindowSpec, which: str, kind: str, keys: list[Value]) -> str:
    bound, side = spec.args[which], (spec.args.get(f"{which}_side") or "").upper()
    if isinstance(bound, str):
        return f"{bound.upper()} {side}".strip()  # CURRENT ROW, UNBOUNDED PRECEDING, UNBOUNDED FOLLOWING
    interval = interval_of(bound)
    if interval is not None:
        if kind == "RANGE" and len(keys) == 1 and keys[0].type == TIMESTAMP and interval[0] >= 0:
            return f"{interval_sql(interval)} {side}"
    elif isinstance(bound, exp.Literal) and not bound.is_string and bound.name.isdigit():
        numeric = len(keys) == 1 and keys[0].type in (INT, BIGINT)
        if kind == "ROWS" or numeric:
            return f"{bound.name} {side}"
    raise NotOnDuckDB("such a frame is only supported on Spark")


RULES: dict[type[exp.Expression], Rule] = {
    **dict.fromkeys(_AGGREGATES, aggregate),
    exp.Filter: filtered,
    exp.Grouping: grouping,
    exp.GroupingId: grouping_id,
    exp.Window: window,
}


def _every(node: exp.Anonymous, tr: Translator) -> Value:
    if len(node.expressions) != 1:
        raise NotOnDuckDB(unproved(node))
    return all_or_any(node, tr, "", None)


FUNCTIONS: dict[str, Rule] = {"every": _every, "some": _every}
