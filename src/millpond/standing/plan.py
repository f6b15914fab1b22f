"""What a standing query asks, taken apart: which rows of each stream can matter, and what is made of them.

Of every stream a predicate is read that all rows of the answer fulfil; that is what an index can find. How the answer is made of
these rows is the cheapest of:

    plain        columns of the rows themselves, nothing else: no engine is asked
    aggregate    COUNT, SUM, AVG, MIN and MAX of columns, grouped by columns: a tree is asked
    join         columns of rows of several streams that belong together: the tuples that are kept are asked
    rows         anything else: DuckDB is given the query and these rows in place of the whole table

Invariant. `part.predicate` is true for every row of its stream that can contribute to the answer; in a plain query, an aggregate
and a join it is all that WHERE says about its stream alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.predicate.form import Always, Predicate, all_of
from millpond.predicate.normal import normal
from millpond.query.binding.uses import Bound, Use
from millpond.query.bounds import column_of, conditions
from millpond.query.clauses import Refusal, group_keys, only, selected_columns
from millpond.query.instant import names_instant
from millpond.query.plan import ordered
from millpond.sql.predicates import read_necessary, read_predicate
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.standing.aggregates import Aggregated, read_aggregates
from millpond.standing.join_form import JoinForm, read_join


@dataclass(frozen=True)
class StreamPart:
    """A stream of a query: its use, and what is true of all its rows that can matter."""

    use: Use
    predicate: Predicate

    @property
    def table(self) -> StreamingTable:
        assert isinstance(self.use.table, StreamingTable)
        return self.use.table


@dataclass(frozen=True)
class Served:
    """How a query can be answered from what is kept. `text` is DuckDB's SQL for it, over the rows of its relations."""

    parts: tuple[StreamPart, ...]
    text: str
    plain: tuple[str, ...] | None = None
    aggregated: Aggregated | None = None
    join: JoinForm | None = None
    not_plain: str = ""
    """Why it is not plain, for EXPLAIN."""
    single: bool = False
    """Whether it is one SELECT from one table whose WHERE is the predicate."""


def serve(bound: Bound, streaming: frozenset[str]) -> Served | Refusal:
    """How a query can be answered from what is kept, or why it cannot. `streaming` are the folders of the pond's own streams."""
    if bound.unsure is not None:
        return Refusal(f"only Spark may know what it means: {bound.unsure.primary}")
    if bound.functions:
        return Refusal(f"it calls {', '.join(sorted(bound.functions))}, a function of the user's")
    if names_instant(bound.tree):
        return Refusal("it names NOW() outside of BEGIN and END")
    parts = []
    for use in bound.uses.values():
        if not isinstance(use.table, StreamingTable):
            continue
        refusal = _not_kept(use, streaming)
        if refusal is not None:
            return refusal
        parts.append(StreamPart(use, normal(_necessary(bound, use))))
    if not parts:
        return Refusal("it reads no streaming table")
    try:
        if bound.unnamed is not None and bound.text is not None and bound.shows_names:
            return Refusal(f"only Spark knows the name of column {bound.unnamed}, which has none")
        text = to_duckdb(ordered(bound).tree, bound.functions)
    except NotOnDuckDB as refusal:
        return Refusal(str(refusal))
    return _simplest(bound, tuple(parts), text)


def _not_kept(use: Use, streaming: frozenset[str]) -> Refusal | None:
    assert isinstance(use.table, StreamingTable)
    if use.rejected:
        return Refusal("it reads rejected rows")
    if use.table.folder not in streaming:
        return Refusal(f'"{use.table.name}" is the result of a continuous query')
    if use.previous:
        return Refusal("it asks for previous rows")
    if use.window is not None and use.window.columns:
        return Refusal(f"the window of {use.alias} counts rows by key")
    return None


def _necessary(bound: Bound, use: Use) -> Predicate:
    """What is true of every row of a stream that can contribute to the answer."""
    for scope in bound.scopes:
        for alias, source in scope.sources.items():
            if not isinstance(source, exp.Table) or source.name != use.name:
                continue
            select = scope.expression
            joins = select.args.get("joins") or [] if isinstance(select, exp.Select) else []
            if any(j.side or (j.kind and j.kind not in ("INNER", "CROSS")) for j in joins):
                return Always()  # a row that is left out may let another be joined with NULL
            return all_of(read_necessary(condition, column_of(alias, use)) for condition in conditions(select))
    return Always()


def _simplest(bound: Bound, parts: tuple[StreamPart, ...], text: str) -> Served:
    tree, use = bound.tree, parts[0].use
    if len(bound.uses) > len(parts):
        return Served(parts, text, not_plain="it reads more than streams")
    if len(parts) > 1:
        found = read_join(bound, [part.use for part in parts])
        if isinstance(found, Refusal):
            return Served(parts, text, not_plain=found.reason)
        form, predicates = found
        exact = [StreamPart(part.use, predicate) for part, predicate in zip(parts, predicates, strict=True)]
        return Served(tuple(exact), text, join=form)
    refusal = only(tree, "where", "group")
    if refusal is not None:
        return Served(parts, text, not_plain=refusal.reason)
    assert isinstance(tree, exp.Select)
    where = tree.args.get("where")
    stated = Always() if where is None else read_predicate(where.this, column_of(use.alias, use))
    if stated is None:
        return Served(parts, text, not_plain="its WHERE says more than an index can")
    parts = (StreamPart(use, normal(stated)),)
    columns = selected_columns(tree)
    if None not in columns and not tree.args.get("group"):
        return Served(parts, text, plain=tuple(c.name for c in columns if c is not None), single=True)
    keys = group_keys(tree)
    if isinstance(keys, Refusal):
        return Served(parts, text, not_plain=keys.reason, single=True)
    if tree.find(exp.Window):
        return Served(parts, text, not_plain="it has a window function", single=True)
    if not keys and not tree.find(exp.AggFunc):
        return Served(parts, text, not_plain="it computes more than columns of its rows", single=True)
    aggregated = read_aggregates(tree, keys, parts[0].table.columns)
    if isinstance(aggregated, Refusal):
        return Served(parts, text, not_plain=aggregated.reason, single=True)
    return Served(parts, text, aggregated=aggregated, single=True)
