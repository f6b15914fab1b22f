"""What a CREATE REDUCTION defines: its keys, the partial aggregates that it keeps, and the SELECT that computes its windows.

Kept of each window and value of the keys is what aggregates over several windows are made of: the number of rows always, for AVG
a count and a sum. An expression is known again by its plain text: as binding leaves it, without the name of its table.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millpond.catalog import Catalog, Partial, Reduction, StreamingTable, folder_name
from millpond.duration import TimeUnit, describe
from millpond.errors import Span, UnsupportedSql
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound, Use
from millpond.query.clauses import Refusal, group_keys, only
from millpond.schema import Schema
from millpond.sql.dialect import span_of
from millpond.sql.statements import CreateReduction
from millpond.table.kept_windows import WINDOW_START

ROWS = "rows"
_PARTIALS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Count: ("count",),
    exp.Sum: ("count", "sum"),
    exp.Avg: ("count", "sum"),
    exp.Min: ("min",),
    exp.Max: ("max",),
}
_FUNCTIONS = {"rows": "COUNT(*)", "count": "COUNT({})", "sum": "SUM({})", "min": "MIN({})", "max": "MAX({})"}
_HINT = "Write SELECT key, ..., AVG(x), ... FROM t [WHERE ...] GROUP BY key, ... EVERY INTERVAL '1' HOUR."


def plain(node: exp.Expr) -> str:
    """An expression of a bound query as a text by which it is known again."""
    copy = node.copy()
    for column in [copy] if isinstance(copy, exp.Column) else list(copy.find_all(exp.Column)):
        column.set("table", None)
        column.set("this", exp.to_identifier(column.name.lower(), quoted=True))
    return copy.sql(dialect="spark")


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions of which all must hold."""
    if condition is None:
        return
    if isinstance(condition, exp.Paren):
        yield from conjuncts(condition.this)
    elif isinstance(condition, exp.And):
        yield from conjuncts(condition.this)
        yield from conjuncts(condition.expression)
    else:
        yield condition


def where_of(tree: exp.Select) -> list[exp.Expr]:
    """The conditions of a WHERE, of which all must hold."""
    where = tree.args.get("where")
    return list(conjuncts(where.this if where is not None else None))


def aggregate_of(node: exp.Expr) -> tuple[str, exp.Expr | None] | None:
    """The kind of an aggregate that windows can be combined for, and its value, which is None where rows are counted."""
    kind = type(node)
    if kind not in _PARTIALS or isinstance(node.this, exp.Distinct) or node.args.get("expressions"):
        return None
    value = node.this
    if kind is exp.Count and (value is None or isinstance(value, (exp.Star, exp.Literal))):
        return "count", None
    return kind.__name__.lower(), value


def define(statement: CreateReduction, catalog: Catalog) -> Reduction:
    """The reduction that a statement defines; the types of its columns are not known yet."""
    name = statement.name.lower()
    catalog.check_free(name)
    table = catalog.streaming_table(statement.table)
    if table.late == "keep":
        raise UnsupportedSql(
            f'table "{table.name}" keeps late rows and cannot have a reduction',
            detail="Its windows could change after they have ended.",
            hint=f"ALTER STREAMING TABLE {table.name} SET (late = 'reject').",
            sql=statement.sql,
            span=statement.span,
        )
    width = table.unit.count(statement.every)
    if width <= 0:
        raise UnsupportedSql("the windows of a reduction are longer than nothing", sql=statement.sql,
                             span=statement.place)  # fmt: skip
    bound = bind(statement.query, catalog, statement.sql)
    use = _use(bound, table, statement)
    tree = bound.tree
    assert isinstance(tree, exp.Select)
    keys = _keys(tree, use, statement)
    partials = _partials(tree, keys, statement)
    conditions = where_of(tree)
    where = f" WHERE {' AND '.join(f'({plain(c)})' for c in conditions)}" if conditions else ""
    time = exp.to_identifier(table.time_column, quoted=True).sql("spark")
    size = f"{width} seconds" if table.unit is TimeUnit.SECOND else f"{width} microseconds"
    items = [
        *(_quoted(k) for k in keys),
        f"window.start AS {WINDOW_START}",
        *(f"{_FUNCTIONS[p.kind].format(p.of)} AS {_quoted(p.column)}" for p in partials),
    ]
    groups = [*(_quoted(k) for k in keys), f"window({time}, '{size}')"]
    computed_by = f"SELECT {', '.join(items)} FROM {_quoted(table.name)}{where} GROUP BY {', '.join(groups)}"
    return Reduction(
        name, table.name, statement.text, statement.every, keys, partials, tuple(plain(c) for c in conditions),
        computed_by, Schema(()), folder_name(name, catalog.made), statement.lazy,
    )  # fmt: skip


def told(reduction: Reduction) -> str:
    """How a reduction is called where it says what was read."""
    return f"windows of {describe(reduction.every)} ({reduction.name})"


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql("spark")


def _use(bound: Bound, table: StreamingTable, statement: CreateReduction) -> Use:
    refusal = only(bound.tree, "where", "group")
    if refusal is None and bound.functions:
        refusal = Refusal(f"it calls a function in Python: {', '.join(sorted(bound.functions))}")
    if refusal is not None:
        raise _cannot(refusal.reason, statement)
    (use,) = bound.uses.values()
    if use.table != table or use.rejected:
        raise UnsupportedSql(
            f'reduction "{statement.name.lower()}" is on "{table.name}" and selects from another table',
            hint=f"Write FROM {table.name}.",
            sql=statement.sql,
            span=statement.span,
        )
    if use.window is not None:
        raise _cannot("its windows are said by EVERY, not in brackets", statement)
    return use


def _keys(tree: exp.Select, use: Use, statement: CreateReduction) -> tuple[str, ...]:
    found = group_keys(tree)
    if isinstance(found, Refusal):
        raise _cannot(found.reason, statement)
    keys: list[str] = []
    for key in found:
        if not isinstance(key, exp.Column):
            raise _cannot("its keys are columns, and this is more", statement, span_of(key))
        if key.name.lower() == use.time_column:
            raise _cannot("it is grouped by time by EVERY alone", statement, span_of(key))
        if key.name.lower() not in keys:
            keys.append(key.name.lower())
    return tuple(keys)


def _partials(tree: exp.Select, keys: tuple[str, ...], statement: CreateReduction) -> tuple[Partial, ...]:
    taken = {*keys, WINDOW_START, "instant", "window"}
    found: dict[tuple[str, str], Partial] = {}

    def keep(kind: str, of: str, base: str) -> None:
        if (kind, of) not in found:
            number, name = 2, base
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            taken.add(name)
            found[kind, of] = Partial(name, kind, of)

    keep("rows", "", ROWS)
    for item in tree.expressions:
        node = item.this if isinstance(item, exp.Alias) else item
        if isinstance(node, exp.Column) and node.name.lower() in keys:
            continue
        aggregate = aggregate_of(node)
        if aggregate is None:
            raise _cannot(
                "it selects its keys and COUNT, SUM, AVG, MIN and MAX", statement, span_of(node) or statement.span
            )
        _, value = aggregate
        if value is None:
            continue
        base = value.name.lower() if isinstance(value, exp.Column) else "value"
        for kind in _PARTIALS[type(node)]:
            keep(kind, plain(value), f"{base}_{kind}")
    return tuple(found.values())


def _cannot(reason: str, statement: CreateReduction, span: Span | None = None) -> UnsupportedSql:
    return UnsupportedSql(
        f"this cannot be a reduction: {reason}", hint=_HINT, sql=statement.sql, span=span or statement.span
    )
