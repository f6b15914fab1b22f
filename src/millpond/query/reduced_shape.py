"""What a query over a reduced table asks: rows, or aggregates that can be estimated; everything else is refused with its reason.

An aggregate of the rows that were read is not that of all rows. So a query with aggregates is answered here only if each has an
estimator: it is one SELECT from one table, and its aggregates are COUNT, SUM, AVG or quantiles. A query without aggregates
simply gets fewer rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millpond.errors import UnsupportedSql
from millpond.query.binding.uses import Bound, Use
from millpond.query.clauses import Refusal, group_keys, only
from millpond.sql.dialect import span_of

_CLAUSES = ("where", "group", "having", "order", "limit", "offset")
_QUANTILES = (exp.ApproxQuantile, exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.Median)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of the query: `kind` is count, sum, avg or quantile. Without a `value` it counts rows; `condition` is
    its FILTER; `at` is which quantile."""

    node: exp.Expr
    kind: str
    value: exp.Expr | None
    condition: exp.Expr | None = None
    at: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        kind = self.value.type if self.value is not None else None
        return self.kind == "count" or (self.kind == "sum" and kind is not None and kind.is_type(*_WHOLE))


_WHOLE = tuple(exp.DataType.INTEGER_TYPES)


@dataclass(frozen=True)
class Shape:
    """Aggregates of one table, by groups."""

    use: Use
    tree: exp.Select
    keys: tuple[exp.Expr, ...]
    aggregates: tuple[Aggregate, ...]


def read_shape(bound: Bound, sql: str, *, within: bool = False) -> Shape | None:
    """The aggregates of a query; None if it has none. Refuses what has no estimator; `within`: the query names an error."""
    tree = bound.tree
    aggregates = list(tree.find_all(exp.AggFunc))
    several = list(tree.find_all(exp.Window, exp.Distinct, exp.SetOperation))
    grouped = any(select.args.get("group") for select in tree.find_all(exp.Select))
    if not aggregates and not several and not grouped:
        if within:
            raise UnsupportedSql(
                "WITHIN is for aggregates, and this query has none",
                hint="Say how many rows you want: FROM <table> REDUCE TO 10 PERCENT.",
                sql=sql,
            )
        return None
    refusal = only(tree, *_CLAUSES)
    if refusal is None and several and isinstance(several[0], (exp.Window, exp.SetOperation)):
        refusal = Refusal("it has functions OVER a window")
    if refusal is None:
        keys = group_keys(tree) if isinstance(tree, exp.Select) else Refusal("it is more than one SELECT")
        refusal = keys if isinstance(keys, Refusal) else None
    if refusal is not None:
        raise UnsupportedSql(
            f"this query cannot be answered from a part of the rows: {refusal.reason}",
            detail="Aggregates are estimated over one table: SELECT ... FROM t WHERE ... GROUP BY ...",
            hint="Leave REDUCE and WITHIN out to have it exactly.",
            sql=sql,
        )
    assert isinstance(tree, exp.Select)
    assert not isinstance(keys, Refusal)
    (use,) = bound.uses.values()
    return Shape(use, tree, tuple(keys), tuple(_aggregate(node, sql) for node in _outermost(aggregates)))


def _outermost(found: list[exp.AggFunc]) -> list[exp.Expr]:
    """Aggregates with their FILTER and WITHIN GROUP, each once."""
    whole: list[exp.Expr] = []
    for node in found:
        around: exp.Expr = node
        while isinstance(around.parent, (exp.Filter, exp.WithinGroup)) and around.parent.this is around:
            around = around.parent
        if not any(around is one for one in whole):
            whole.append(around)
    return [n for n in whole if not any(p is not n and any(m is n for m in p.walk()) for p in whole)]


def _aggregate(node: exp.Expr, sql: str) -> Aggregate:
    inner, condition, order = node, None, None
    while isinstance(inner, (exp.Filter, exp.WithinGroup)):
        if isinstance(inner, exp.Filter):
            condition = inner.expression.this
        else:
            order = inner.expression
        inner = inner.this
    value = inner.this
    if isinstance(inner, exp.Count) and not isinstance(value, exp.Distinct) and not inner.expressions:
        star = value is None or isinstance(value, (exp.Star, exp.Literal))
        return Aggregate(node, "count", None if star else value, condition)
    if type(inner) in (exp.Sum, exp.Avg) and not isinstance(value, exp.Distinct) and _is_number(value):
        return Aggregate(node, "sum" if isinstance(inner, exp.Sum) else "avg", value, condition)
    if isinstance(inner, _QUANTILES):
        at = 0.5 if isinstance(inner, exp.Median) else _place(inner, order)
        if order is not None:
            value = order.expressions[0].this
        if at is not None and not isinstance(value, exp.Distinct) and _is_number(value):
            return Aggregate(node, "quantile", value, condition, at)
    raise _no_estimator(inner, sql)


def _place(inner: exp.Expr, order: exp.Expr | None) -> float | None:
    found = inner.this if order is not None else inner.args.get("quantile")
    try:
        return float(found.name) if isinstance(found, exp.Literal) else None
    except ValueError:
        return None


def _is_number(value: exp.Expr) -> bool:
    return value is not None and value.type is not None and value.type.this in exp.DataType.NUMERIC_TYPES


def _no_estimator(node: exp.Expr, sql: str) -> UnsupportedSql:
    reasons: dict[type[exp.Expr], str] = {
        exp.Max: "The rows that are not read may hold a greater value, and nothing tells how much greater.",
        exp.Min: "The rows that are not read may hold a smaller value, and nothing tells how much smaller.",
    }
    detail = reasons.get(type(node), "Estimates are known for COUNT, SUM and AVG of numbers, and for one quantile.")
    name = node.sql_name().upper() if isinstance(node, exp.Func) else node.key.upper()
    if isinstance(node.this, exp.Distinct):
        name += " DISTINCT"
        detail = (
            "A value that is in one row only is missed with the row, and nothing tells how many such values there are."
        )
    return UnsupportedSql(
        f"{name} has no estimate from a part of the rows",
        detail=detail,
        hint="Ask for it in a query of its own, without REDUCE and WITHIN.",
        sql=sql,
        span=span_of(node),
    )
