"""Partial aggregates, read from the rows of a table and from windows alike, and the answer made of them.

    rows     SELECT keys, COUNT(*), COUNT(x), SUM(x), MIN(x) ... of the stretches that no window covers
    windows  SELECT keys, SUM(rows), SUM(x_count), SUM(x_sum), MIN(x_min) ... of the others

Both give a relation of the same shape, with a row for each group. What the query computes with its aggregates afterwards (HAVING,
ORDER BY, LIMIT, expressions of several aggregates) DuckDB does over the aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from millpond.arrow import arrow_type
from millpond.catalog import Partial, Reduction, StreamingTable
from millpond.query.binding.uses import Bound, Use
from millpond.query.reduced import above
from millpond.query.windowed.definition import plain
from millpond.query.windowed.question import Question
from millpond.schema import DataType
from millpond.table.kept_windows import WINDOW_START

Compute = Callable[[exp.Select, pa.Table], pa.Table]
_OVER_ROWS = {"rows": "COUNT(*)", "count": "COUNT({})", "sum": "SUM({})", "min": "MIN({})", "max": "MAX({})"}
_OVER_WINDOWS = {"rows": "SUM({})", "count": "SUM({})", "sum": "SUM({})", "min": "MIN({})", "max": "MAX({})"}


def of_rows(bound: Bound, question: Question) -> Bound:
    """The query of the rows: keys and values of those that match."""
    values = {plain(a.value): a.value for a in question.shape.aggregates if a.value is not None}
    tree = question.shape.tree.copy()
    for clause in ("group", "having", "order", "limit", "offset"):
        tree.set(clause, None)
    items = [_named(key.copy(), f"k{number}") for number, key in enumerate(question.shape.keys)]
    items += [_named(values[p.of].copy(), f"v{n}") for n, p in enumerate(question.columns) if p.of]
    tree.set("expressions", items or [_named(exp.Literal.number(1), "one")])
    return replace(bound, tree=tree, names=(), text=None, written=None, any_order=True)


def of_windows(question: Question, reduction: Reduction, table: StreamingTable, time_column: str) -> Bound:
    """The query of the windows in `table`, which is the relation that holds them; `time_column` is that of the rows."""
    use = replace(question.shape.use, table=table, window=None, reduce=None, previous=())
    start = reduction.columns.find(WINDOW_START, reduction.name)

    def moved(node: exp.Expr) -> exp.Expr:
        copy = node.copy()
        for column in list(copy.find_all(exp.Column)):
            if column.name.lower() == time_column:
                made = _column(WINDOW_START, use, start.type)
                if column is copy:
                    return made
                column.replace(made)
        return copy

    items = [_named(moved(key), f"k{number}") for number, key in enumerate(question.shape.keys)]
    for number, partial in enumerate(question.columns):
        kind = reduction.columns.find(partial.column, reduction.name).type
        items.append(_named(_column(partial.column, use, kind), f"v{number}"))
    source = exp.Table(
        this=exp.to_identifier(use.name),
        alias=exp.TableAlias(this=exp.to_identifier(use.alias, quoted=True)),
    )
    tree = exp.Select(expressions=items, from_=exp.From(this=source))
    if question.inside:
        tree.set("where", exp.Where(this=exp.and_(*(moved(c) for c in question.inside), copy=False)))
    return Bound(tree, {use.name: use}, (), traverse_scope(tree), any_order=True)


def summed(question: Question, reduction: Reduction, *, windows: bool) -> Callable[[str], str]:
    """Makes of the text of either query one that sums up its rows; both engines understand it."""
    keys = [f"k{number}" for number in range(len(question.shape.keys))]
    items = list(keys)
    for number, partial in enumerate(question.columns):
        made = (_OVER_WINDOWS if windows else _OVER_ROWS)[partial.kind].format(f"v{number}")
        kind = _type(partial, reduction)
        cast = partial.kind in ("rows", "count", "sum")
        items.append(f"CAST({made} AS {kind}) AS p{number}" if cast else f"{made} AS p{number}")
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    return lambda text: f"SELECT {', '.join(items)} FROM ({text}) AS s{group}"


def answer(
    bound: Bound, question: Question, reduction: Reduction, parts: Sequence[pa.Table],
    run: Callable[[str, dict[str, pa.Table]], pa.Table], compute: Compute,
) -> pa.Table:  # fmt: skip
    """The answer to a query, from the partials of its groups. `run` has DuckDB answer a text over relations, `compute` a tree
    over one that is called as the query's own."""
    together = pa.concat_tables(parts, promote_options="permissive").combine_chunks()
    keys = [f"k{number}" for number in range(len(question.shape.keys))]
    merged = run(summed(question, reduction, windows=True)(_as_values(question)), {"partials": together})
    columns: dict[str, Any] = {name: merged[name] for name in keys}
    for number, aggregate in enumerate(question.shape.aggregates):
        parted = [merged[f"p{at}"] for at in question.made_of[number]]
        if aggregate.kind == "count":
            columns[f"a{number}"] = pa.array([n or 0 for n in parted[0].to_pylist()], pa.int64())
        elif aggregate.kind == "avg":
            columns[f"a{number}"] = _averages(*parted)
        else:
            columns[f"a{number}"] = parted[0]
    rows = pa.table(columns)
    tree, plain_columns, _ = above(question.shape, rows, bounds=False)
    shown = rows.select(plain_columns) if plain_columns is not None else compute(tree, rows)
    return shown.rename_columns(list(bound.names))


def _as_values(question: Question) -> str:
    keys = [f"k{number}" for number in range(len(question.shape.keys))]
    return f"SELECT {', '.join([*keys, *(f'p{n} AS v{n}' for n in range(len(question.columns)))])} FROM partials"


def _averages(sums: pa.ChunkedArray, counts: pa.ChunkedArray) -> pa.Array:
    """Spark's averages: doubles; of decimals, decimals with four more digits."""
    pairs = list(zip(sums.to_pylist(), counts.to_pylist(), strict=True))
    if not pa.types.is_decimal(sums.type):
        return pa.array([float(s) / n if n else None for s, n in pairs], pa.float64())
    # A sum has ten digits more than what was summed up, an average four: both before and behind the point.
    digits, scale = max(1, sums.type.precision - 10), sums.type.scale
    kind = arrow_type(DataType("DECIMAL", min(38, digits + 4), min(38, scale + 4)))
    with localcontext() as context:
        context.prec = 60
        step = Decimal(1).scaleb(-kind.scale)
        found = [(s / n).quantize(step, ROUND_HALF_UP) if n and s is not None else None for s, n in pairs]
    return pa.array(found, kind)


def _type(partial: Partial, reduction: Reduction) -> str:
    return str(reduction.columns.find(partial.column, reduction.name).type)


def _named(node: exp.Expr, name: str) -> exp.Alias:
    found = exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
    found.type = node.type
    return found


def _column(name: str, use: Use, kind: DataType) -> exp.Column:
    found = exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(use.alias, quoted=True))
    found.type = exp.DataType.build(str(kind), dialect="spark")
    return found
