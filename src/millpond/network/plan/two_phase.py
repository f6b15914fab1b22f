"""Aggregates in two steps, where the shard key does not fit the groups: partial ones in the shards, then their sum.

    SELECT xway, seg, AVG(spd) AS speed FROM p [INTERVAL '1' MINUTE] GROUP BY xway, seg        -- p is sharded by vid

becomes a query of the shards that sends, at each instant, a row per group with the sum and the count, and one over these
rows of the instant that adds them up. Rows of the table stay in their shards; what travels is as small as the result.

Done for GROUP BY plain columns and NOW() at fixed slides, RSTREAM, with COUNT, SUM, AVG, MIN and MAX of integer columns, where
adding up gives the same in any order; COUNT(DISTINCT x) only when x is the shard key, whose values no two shards share.

FROM may be a subquery that is itself grouped by the shard key, and by whatever else: then each of its rows is made in one
shard, and aggregates of its integer columns are split like those of a table's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.catalog import INSTANT, Catalog, ContinuousQuery, StreamingTable
from millpond.network.plan.prepared import Prepared, prepare
from millpond.query.approximate import is_approximate
from millpond.query.clauses import Refusal, clauses, group_keys, key_columns
from millpond.query.correlated import is_correlated
from millpond.query.norms import is_norm
from millpond.schema import Column, DataType, Schema
from millpond.sql.dialect import Millpond, read_tree, tokenize

_PREFIX = "__partial_"  # of names; no user's begins so
_SUFFIX = ".partial"
_BIGINT = DataType("BIGINT")


def both_folders(folder: str) -> tuple[str, str]:
    """The folders under which a query and its first step are known, if it has one; given either."""
    whole = folder.removesuffix(_SUFFIX)
    return whole, whole + _SUFFIX


ColumnsOf = Callable[[Prepared], Iterable[Column]]


def split(
    prepared: Prepared, catalog: Catalog, columns_of: ColumnsOf
) -> tuple[ContinuousQuery, ContinuousQuery] | None:
    """The query of the shards and the one that takes the place of the whole, or None if it cannot be split.

    `columns_of` tells what a query selects."""
    query = prepared.query
    if prepared.on_spark or prepared.hybrid is not None:
        return None
    table = catalog.streaming.get(prepared.streams[0].table.name)
    if len(prepared.streams) != 1 or prepared.standards or table is None or not table.shard_by or table.shards == 1:
        return None
    if query.stream_operator != "rstream" or query.slide is None or query.start is not None:
        return None
    window = prepared.streams[0].window
    if window is None or window.rows is not None or prepared.bound.tree.find(exp.Exists, exp.Window):
        return None
    tree = read_tree(query.sql, tokenize(query.sql))
    if not isinstance(tree, exp.Select) or set(clauses(tree)) - {"WHERE", "GROUP BY"}:
        return None
    if any(is_approximate(c) or is_correlated(c) or is_norm(c) for c in tree.find_all(exp.Anonymous)):
        return None  # they are not of what the shards send
    groups = group_keys(tree)
    if isinstance(groups, Refusal) or not groups:
        return None
    body = _from_where(query.sql)
    if body is None:
        return None
    columns, keys = table.columns, table.shard_by
    if tree.find(exp.Subquery):
        inner = _in_parentheses(body) if _grouped_by_key(tree, table) else None
        if inner is None:
            return None
        source = prepare(replace(query, sql=inner), catalog)
        if source.on_spark:
            return None
        columns = Schema(tuple(columns_of(source)))
        keys = ()
    try:
        parts = _Parts(columns, keys, groups)
        outputs = [parts.output(e, name) for e, name in zip(tree.expressions, _names(query), strict=True)]
    except _NotSplit:
        return None
    return parts.queries(query, body, outputs)


def _grouped_by_key(tree: exp.Select, table: StreamingTable) -> bool:
    """Whether FROM is a subquery, the only one, and grouped by the shard key."""
    source = tree.args["from_"].this
    if not isinstance(source, exp.Subquery) or len(list(tree.find_all(exp.Select))) != 2:
        return False
    if source.alias_column_names:  # x(a, b): its columns are not called as they are inside
        return False
    inner = source.this
    if not isinstance(inner, exp.Select) or set(clauses(inner)) - {"WHERE", "GROUP BY", "HAVING"}:
        return False
    return bool(group_keys(inner)) and set(table.shard_by) <= key_columns(inner)


def _in_parentheses(text: str) -> str | None:
    """What stands in the first parentheses of a text."""
    depth, begin = 0, 0
    for token in tokenize(text):
        if token.token_type is TokenType.L_PAREN:
            begin = begin if depth else token.end + 1
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
            if not depth:
                return text[begin : token.start]
    return None


def _names(query: ContinuousQuery) -> list[str]:
    return query.columns.without(INSTANT).names


def _from_where(sql: str) -> str | None:
    """The text from FROM up to GROUP BY, windows and all."""
    depth = 0
    begin = None
    for token in tokenize(sql):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if depth == 0 and token.token_type is TokenType.FROM and begin is None:
            begin = token.start
        if depth == 0 and token.token_type is TokenType.GROUP_BY and begin is not None:
            return sql[begin : token.start]
    return None


def is_of_instant(node: exp.Expr) -> bool:
    """Whether an expression as it is written depends on nothing but NOW()."""
    if node.find(exp.Column, exp.AggFunc, exp.Query) is not None:
        return False
    calls = list(node.find_all(exp.Func))
    return bool(calls) and all(isinstance(c, (exp.CurrentTimestamp, exp.Anonymous)) and is_now(c) for c in calls)


def is_now(call: exp.Expr) -> bool:
    return isinstance(call, exp.CurrentTimestamp) or (call.name.upper() == "NOW" and not call.expressions)


class _NotSplit(Exception):
    """The whole query is evaluated whole."""


class _Parts:
    """Collects the groups and partial aggregates of a query."""

    def __init__(self, columns: Schema, keys: Sequence[str], groups: list[exp.Expr]) -> None:
        self._columns = columns
        self._keys = {k.lower() for k in keys}  # no two shards share their values
        self._groups: list[exp.Column] = []
        for item in groups:
            if is_of_instant(item):
                continue  # the same in all groups of an instant
            if not isinstance(item, exp.Column) or item.name.lower() not in columns:
                raise_not_split()
            self._groups.append(item)
        self._partials: dict[str, tuple[str, DataType]] = {}  # text -> its name and type

    def output(self, item: exp.Expr, name: str) -> str:
        """A selected item, said over the partial rows."""
        inner = item.this if isinstance(item, exp.Alias) else item
        changed = inner.copy().transform(self._change)
        return f"{changed.sql(dialect=Millpond)} AS `{name}`"

    def _change(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Filter):  # of counts it would leave NULL, not 0, where no row is counted
            raise_not_split()
        if isinstance(node, exp.AggFunc):
            return self._merged(node)
        if isinstance(node, exp.Column):
            for number, group in enumerate(self._groups):
                if group.name.lower() == node.name.lower():
                    return exp.column(f"g{number}", quoted=True)
            if not node.name.startswith(("p", "g")) or not node.name[1:].isdigit():
                raise_not_split()
        return node

    def _merged(self, node: exp.AggFunc) -> exp.Expr:
        if isinstance(node, exp.Count):
            return exp.Sum(this=self._partial(self._count(node), _BIGINT))
        column = node.this
        if not isinstance(column, exp.Column) or column.name.lower() not in self._columns:
            raise_not_split()
        kind = self._columns.find(column.name.lower(), "the query").type
        if not kind.is_integer:
            raise_not_split()
        text = column.sql(dialect=Millpond)
        if isinstance(node, exp.Sum):
            return exp.Sum(this=self._partial(f"SUM({text})", _BIGINT))
        if isinstance(node, exp.Min):
            return exp.Min(this=self._partial(f"MIN({text})", kind))
        if isinstance(node, exp.Max):
            return exp.Max(this=self._partial(f"MAX({text})", kind))
        if isinstance(node, exp.Avg):
            total = exp.cast(exp.Sum(this=self._partial(f"SUM({text})", _BIGINT)), "double")
            count = exp.Sum(this=self._partial(f"COUNT({text})", _BIGINT))
            condition = exp.EQ(this=count, expression=exp.Literal.number(0))
            return exp.Case(
                ifs=[exp.If(this=condition, true=exp.cast(exp.Null(), "double"))],
                default=exp.Div(this=total, expression=count.copy()),
            )
        raise_not_split()

    def _count(self, node: exp.Count) -> str:
        inner = node.this
        if isinstance(inner, exp.Distinct):
            items = inner.expressions
            if len(items) != 1 or not isinstance(items[0], exp.Column) or {items[0].name.lower()} != self._keys:
                raise_not_split()
            return f"COUNT(DISTINCT {items[0].sql(dialect=Millpond)})"
        if not isinstance(inner, (exp.Star, exp.Column, exp.Literal)):
            raise_not_split()
        return f"COUNT({inner.sql(dialect=Millpond)})"

    def _partial(self, text: str, kind: DataType) -> exp.Column:
        name, _ = self._partials.setdefault(text, (f"p{len(self._partials)}", kind))
        return exp.column(name, quoted=True)

    def queries(self, query: ContinuousQuery, body: str, outputs: list[str]) -> tuple[ContinuousQuery, ContinuousQuery]:
        groups = [g.sql(dialect=Millpond) for g in self._groups]
        by = groups or ["NOW()"]  # grouped by nothing else: no rows, no group
        items = [f"{text} AS g{i}" for i, text in enumerate(groups)]
        items += [f"{text} AS {name}" for text, (name, _) in self._partials.items()]
        columns = [
            Column(f"g{i}", self._columns.find(g.name.lower(), "the query").type) for i, g in enumerate(self._groups)
        ]
        columns += [Column(name, kind) for name, kind in self._partials.values()]
        columns.append(Column(INSTANT, query.columns.find(INSTANT, query.name).type))
        name = _PREFIX + query.name
        partial = replace(
            query,
            name=name,
            sql=f"SELECT {', '.join(items)} {body} GROUP BY {', '.join(by)}",
            columns=Schema(tuple(columns)),
            folder=query.folder + _SUFFIX,
            history=None,
            part_of=query.name,
        )
        keys = ", ".join(f"`g{i}`" for i in range(len(groups))) or "NOW()"
        whole = replace(
            query,
            sql=f"SELECT {', '.join(outputs)} FROM `{name}` [NOW] GROUP BY {keys}",
            reads=(name,),
            combines=name,
        )
        return partial, whole


def raise_not_split() -> NoReturn:
    raise _NotSplit
