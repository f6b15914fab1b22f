"""Which way a query is evaluated. Every query can be evaluated instant by instant; some common kinds need not be.

    rows        each row of the stream for itself: a filter and a projection of what arrives
    neighbours  each row with its neighbours in a partitioned window: what changes at a key depends on that key alone
    newest      the rows of the instant alone, each with its neighbours in a partitioned window
    running     aggregates over a window that only grows; nothing else can be asked of such a window
    approximate aggregates over a window of time for which the query names an error: synopses instead of rows
    correlated  correlated aggregates since a landmark: buckets instead of rows
    instants    anything: the one-time query over the contents of the windows, at each instant

Invariant. The kinds differ in cost only (`approximate` and `correlated` also in the error that the query allows). A query is
of the first kinds when that can be proved from its text:
- rows: one stream, nothing but SELECT and WHERE, evaluated at each arrival, and either RSTREAM over [NOW], or ISTREAM over a
  window by time where the row's time is selected: then a row of an instant equals none of an earlier one, and what is
  new is what arrived.
- neighbours: the same over [cols ROWS k], ISTREAM or DSTREAM: at an instant only the keys with a row of that instant
  change, so the difference of the results is the difference of the results over these keys.
- newest: the same with `time = NOW()` among the conditions, RSTREAM, or ISTREAM where the row's time is selected: the result
  holds rows of the instant only, and so no row of the result before.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.network.aggregates.approximate import approximate_shape
from millpond.network.aggregates.correlated import correlated_shape
from millpond.network.aggregates.running import shape_of
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.shapes import ungrouped
from millpond.query.binding.uses import Use
from millpond.query.instant import is_instant
from millpond.sql.translate import NotOnDuckDB, to_duckdb

ROWS, NEIGHBOURS, NEWEST, INSTANTS = "rows", "neighbours", "newest", "instants"
RUNNING, APPROXIMATE, CORRELATED = "running", "approximate", "correlated"
AGGREGATES = (RUNNING, APPROXIMATE, CORRELATED)  # held as numbers for each group
MOMENT = "__moment"  # the instant, as the last column of `text`
_CLAUSES = (
    "group",
    "having",
    "distinct",
    "order",
    "limit",
    "offset",
    "joins",
    "laterals",
    "with_",
    "windows",
    "qualify",
)


@dataclass(frozen=True)
class Kind:
    """`text` selects what the query selects, called `names`, and MOMENT last, from the relation of its only stream, which has it
    as a column; `needs` are the columns it names. (Where groups are held, it selects the values of rows that matter.)"""

    name: str
    text: str = ""
    where: exp.Expr | None = None
    plain: tuple[str, ...] | None = None  # the selected columns, when nothing else is selected
    needs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def kind_of(prepared: Prepared) -> Kind:
    tree = prepared.bound.tree
    if not isinstance(tree, exp.Select):
        return Kind(INSTANTS)
    use = prepared.streams[0]
    window = use.window
    assert window is not None
    form = prepared.query.form
    if window.grows:
        columns = {c.name: c for c in tree.find_all(exp.Column)}
        names = shape_of(tree, use.columns).names
        return _kind(RUNNING, prepared, ungrouped(tree, {name: columns[name] for name in names}))
    approximate = approximate_shape(prepared)
    written = prepared.bound.written or tree
    if approximate is not None and isinstance(written, exp.Select):
        return _kind(APPROXIMATE, prepared, ungrouped(written, approximate.nodes))
    correlated = correlated_shape(prepared)
    if correlated is not None and isinstance(written, exp.Select):
        return _kind(CORRELATED, prepared, ungrouped(written, correlated.nodes))
    if window.columns and form != "dstream":
        arriving = _without_arrival(tree, use)
        if arriving is not None and _is_plain(prepared, arriving) and (form == "rstream" or _shows_time(tree, use)):
            return _kind(NEWEST, prepared, arriving)
    if not _is_plain(prepared, tree):
        return Kind(INSTANTS)
    by_time = not window.columns and window.rows is None
    if by_time and (
        (form == "rstream" and window.now) or (form == "istream" and not window.now and _shows_time(tree, use))
    ):
        return _kind(ROWS, prepared, tree)
    if window.columns and window.interval is None and form != "rstream":
        return _kind(NEIGHBOURS, prepared, tree)
    return Kind(INSTANTS)


def remembers(prepared: Prepared) -> bool:
    """Whether what a query sent last cannot be worked out again: the standard tables it reads may have changed since."""
    return prepared.query.form != "rstream" and bool(prepared.standards)


def simple_where(prepared: Prepared) -> exp.Expr | None:
    """The WHERE of a query over one window, if rows that do not fulfil it can be left out before anything else is done."""
    tree = prepared.bound.tree
    if not isinstance(tree, exp.Select) or len(prepared.streams) != 1 or prepared.standards:
        return None
    source = tree.args.get("from_")
    where = tree.args.get("where")
    if source is None or where is None or not isinstance(source.this, exp.Table) or prepared.streams[0].previous:
        return None
    if any(tree.args.get(c) for c in ("joins", "laterals", "with_")) or where.find(exp.Select):
        return None
    condition: exp.Expr = where.this
    return condition


def _without_arrival(tree: exp.Select, use: Use) -> exp.Select | None:
    """The query without its condition `time = NOW()`, or None if it has none."""
    where = tree.args.get("where")
    if where is None or not isinstance(tree.args["from_"].this, exp.Table):
        return None
    conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    kept = [c for c in conditions if not _is_arrival(c, use)]
    if len(kept) == len(conditions):
        return None
    copy = tree.copy()
    copy.set("where", exp.Where(this=exp.and_(*(c.copy() for c in kept))) if kept else None)
    return copy


def _is_arrival(condition: exp.Expr, use: Use) -> bool:
    if isinstance(condition, exp.Paren):
        return _is_arrival(condition.this, use)
    if not isinstance(condition, exp.EQ):
        return False
    sides = [condition.this, condition.expression]
    named = any(isinstance(s, exp.Column) and s.name == use.time_column for s in sides)
    return named and any(is_instant(s) for s in sides)


def _is_plain(prepared: Prepared, tree: exp.Select) -> bool:
    if prepared.standards or len(prepared.streams) != 1:
        return False
    if any(f.kind != "scalar" for f in prepared.bound.functions.values()):
        return False
    if prepared.slide is not None or any(tree.args.get(c) for c in _CLAUSES):
        return False
    for node in tree.walk():
        if isinstance(node, (exp.AggFunc, exp.Window, exp.Subquery, exp.Exists, exp.Explode)):
            return False
        if isinstance(node, exp.Select) and node is not tree:
            return False
        if is_instant(node):
            return False
    return True


def _shows_time(tree: exp.Select, use: Use) -> bool:
    return use.time_column in {c.name for e in tree.expressions if (c := _column(e)) is not None}


def _column(item: exp.Expr) -> exp.Column | None:
    """The column a selected item is, if it is nothing more."""
    inner = item.this if isinstance(item, exp.Alias) else item
    return inner if isinstance(inner, exp.Column) else None


def _kind(name: str, prepared: Prepared, tree: exp.Select) -> Kind:
    use = prepared.streams[0]
    table = use.table
    assert isinstance(table, StreamingTable)
    copy = tree.copy()
    column = exp.Column(this=exp.to_identifier(MOMENT, quoted=True), table=exp.to_identifier(use.alias, quoted=True))
    column.type = exp.DataType.build(str(table.columns.find(table.time_column, table.name).type), dialect="spark")
    copy.append("expressions", exp.alias_(column, MOMENT, quoted=True))
    try:
        text = to_duckdb(copy, prepared.bound.functions)
    except NotOnDuckDB:
        return Kind(INSTANTS)
    columns = [_column(e) for e in tree.expressions]
    plain = tuple(c.name for c in columns if c is not None) if None not in columns else None
    where = tree.args.get("where")
    needs = tuple(dict.fromkeys(c.name for c in tree.find_all(exp.Column)))
    names = tuple(e.alias_or_name for e in tree.expressions)
    return Kind(name, text, where.this if where is not None else None, plain, needs, names)
