"""A continuous query made ready: bound to the catalog, translated for DuckDB or left to Spark, checked that it can be kept going.

What is refused is refused here, at CREATE, with the reason: a stream without a window, a window that would have to hold
more than its table keeps or grow without bound, streams whose times cannot be compared, chance and the wall clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from sqlglot import exp

from millpond.catalog import Catalog, ContinuousQuery, StandardTable, StreamingTable
from millpond.duration import FOREVER, TimeUnit, describe
from millpond.errors import SqlError, UnsupportedSql
from millpond.network.plan.deterministic import check_deterministic, check_special_times
from millpond.network.plan.hybrid import Hybrid, hybrid
from millpond.network.plan.running import running_shape
from millpond.network.plan.sessions import JOINED, with_ends
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound, Use
from millpond.query.clauses import Refusal
from millpond.query.instant import names_instant
from millpond.query.plan import ordered
from millpond.sql.dialect import WINDOW, WINDOW_SPAN, read_tree, span_of, tokenize
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.windows.before import BeforeWindow
from millpond.windows.session import SessionWindow
from millpond.windows.unbounded import UnboundedWindow


@dataclass(frozen=True)
class Prepared:
    """`text` is DuckDB's SQL over the relations of `bound`; None if DuckDB is not proved to answer as Spark does, for the reason
    that `refusal` tells. `streams` are the windows it reads, `standards` the tables."""

    query: ContinuousQuery
    bound: Bound = field(compare=False)
    text: str | None
    unit: TimeUnit
    streams: tuple[Use, ...]
    standards: tuple[Use, ...]
    refusal: str | None = None
    hybrid: Hybrid | None = field(default=None, compare=False)
    """How it reads history at its instants, if it does."""

    @property
    def on_spark(self) -> bool:
        """Whether Spark itself evaluates it."""
        return self.text is None

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def slide(self) -> int | None:
        """Event time between instants, in the table's unit; None when each arrival is one."""
        return None if self.query.slide is None else self.unit.count(self.query.slide)

    @property
    def each_row(self) -> bool:
        """Whether each row is an instant of its own, also where rows have equal times."""
        return self.query.each_row

    @property
    def offset(self) -> int:
        """How far instants are behind the multiples of `slide`, in the table's unit."""
        return self.unit.count(self.query.offset)

    @property
    def must_remember(self) -> bool:
        """Whether the result at the last instant cannot be computed again, as the standard tables it reads may have changed; or
        not at once, as Spark would have to be asked."""
        return self.query.stream_operator != "rstream" and (bool(self.standards) or self.on_spark)

    def interval(self, use: Use) -> int | None:
        """The length of a window by time, in the table's unit, if it is the same at all instants."""
        assert use.window is not None
        if use.window.now:
            return 0
        return None if use.window.interval is None else self.unit.count(use.window.interval)

    def last(self, use: Use, instant: int) -> int:
        """The latest time that a window by time holds at an instant."""
        assert use.window is not None
        return use.window.last(instant)

    def start(self, use: Use, instant: int) -> int:
        """Where a window by time begins at an instant; at a later one it does not begin earlier."""
        assert use.window is not None
        assert isinstance(use.table, StreamingTable)
        found = use.window.start(use.table, instant)
        assert found is not None
        return found


def prepare(query: ContinuousQuery, catalog: Catalog) -> Prepared:
    """Ready to be evaluated; raises if it cannot be kept going."""
    return prepare_tree(query, read_tree(query.sql, tokenize(query.sql)), catalog, query.sql)


def prepare_tree(query: ContinuousQuery, tree: exp.Expr, catalog: Catalog, sql: str) -> Prepared:
    if query.gap is not None:
        tree = with_ends(tree, catalog, sql)
    bound = bind(tree, catalog, sql, spark_decides=query.gap is None, each_row=query.each_row)
    if query.gap is not None:
        bound = _over_sessions(bound, query.gap)
    check_deterministic(tree, catalog, sql)
    streams = tuple(u for u in bound.uses.values() if isinstance(u.table, StreamingTable))
    standards = tuple(u for u in bound.uses.values() if isinstance(u.table, StandardTable))
    if not streams:
        raise UnsupportedSql("a continuous query reads at least one streaming table", sql=sql)
    unit = streams[0].table.unit  # type: ignore[union-attr]
    for use in streams:
        _check_stream(use, unit, catalog, sql)
        if use.window is not None and use.window.grows:
            if bound.unsure is not None:  # what it selects is not known here
                raise bound.unsure
            _check_growing(use, bound, catalog, sql)
    if query.each_row:
        _check_one_order(streams, sql)
    if query.slide is not None:
        unit.count(query.slide)
        unit.count(query.offset)
    _check_functions(bound, sql)
    text, refusal = _translated(bound, sql)
    found = hybrid(query, bound, streams, refusal, catalog, sql)
    if refusal is not None:
        if query.gap is not None:
            raise UnsupportedSql(
                "sessions are not evaluated on Spark in a continuous query",
                detail=f"Spark is needed because: {refusal}.",
                hint=f"Leave that to a query that reads this one. {JOINED}",
                sql=sql,
            )
        check_special_times(tree, sql)
        if query.each_row:
            raise UnsupportedSql(
                "SAMPLE EACH ROW needs a query that DuckDB is proved to answer",
                detail=f"Spark would have to be asked at each row: {refusal}.",
                hint="Write SAMPLE REALTIME, or SAMPLE INTERVAL.",
                sql=sql,
            )
        for use in streams:
            if use.window is not None and use.window.grows:
                raise _grows(use, refusal, sql)
    return Prepared(query, bound, text, unit, streams, standards, refusal, found)


def moved_to_spark(prepared: Prepared, reason: str) -> Prepared | None:
    """The same query, evaluated on Spark from now on; None if it cannot be, as `prepare_tree` would say it."""
    query, bound = prepared.query, prepared.bound
    if prepared.on_spark or query.gap is not None or query.each_row or bound.functions or prepared.hybrid is not None:
        return None
    if any(use.window is not None and use.window.grows for use in prepared.streams):
        return None
    try:
        check_special_times(read_tree(query.sql, tokenize(query.sql)), query.sql)
    except SqlError:
        return None
    return replace(prepared, text=None, refusal=reason)


def _translated(bound: Bound, sql: str) -> tuple[str | None, str | None]:
    """The query for DuckDB, or why it is not proved to give what Spark gives."""
    if bound.unsure is not None:
        return None, f"it does not know what Spark may: {bound.unsure.primary}"
    try:
        return to_duckdb(ordered(bound).tree, bound.functions), None
    except NotOnDuckDB as refusal:
        if bound.functions:
            raise UnsupportedSql(
                f"this query needs Spark, where the user's functions in it do not run: {', '.join(sorted(bound.functions))}",
                detail=f"Spark is needed because: {refusal}.",
                hint="Call the functions in a streaming view, and let this query read its results.",
                sql=sql,
            ) from refusal
        return None, str(refusal)


def _over_sessions(bound: Bound, gap: timedelta) -> Bound:
    """The stream is seen through the rows of open sessions."""
    uses = {
        name: replace(use, window=SessionWindow(gap))
        if isinstance(use.table, StreamingTable) and not use.window
        else use
        for name, use in bound.uses.items()
    }
    return replace(bound, uses=uses)


def _check_functions(bound: Bound, sql: str) -> None:
    """A query outlives the process, and its result depends on the rows in its windows alone: so must its functions."""
    for function in bound.functions.values():
        if function.python is None:
            raise UnsupportedSql(
                f'function "{function.name}" ends with this process',
                detail="A continuous query goes on after a restart.",
                hint="Put the function into a module, so that it can be found again.",
                sql=sql,
            )
        if function.reads:
            raise UnsupportedSql(
                f'function "{function.name}" reads the pond',
                detail="What it finds there would depend on when the query is evaluated.",
                hint="Read tables in FROM, through windows.",
                sql=sql,
            )


def _check_one_order(streams: Sequence[Use], sql: str) -> None:
    """Rows can be instants, one after the other, if they have one order: that of the row numbers of one table."""
    names = sorted({use.table.name for use in streams})
    if len(names) > 1:
        raise UnsupportedSql(
            "SAMPLE EACH ROW needs one streaming table",
            detail=f"Rows of {' and '.join(names)} that have the same time came in no order that is known.",
            hint="Write SAMPLE REALTIME: rows of equal time are seen together.",
            sql=sql,
        )


def _check_stream(use: Use, unit: TimeUnit, catalog: Catalog, sql: str) -> None:
    table, window = use.table, use.window
    assert isinstance(table, StreamingTable)
    if use.rejected:
        raise UnsupportedSql("rejected rows cannot be read continuously", sql=sql)
    if window is None:
        raise UnsupportedSql(
            f'"{use.alias}" has no window',
            detail="A continuous query sees a streaming table through a window.",
            hint=f"Write one behind its name: {table.name} [INTERVAL '1' MINUTE], or [NOW], or [ROWS 100].",
            sql=sql,
        )
    if not window.continuous:
        raise UnsupportedSql(
            f'a continuous query cannot have the window {window} of "{use.alias}"',
            hint="Write [INTERVAL ...] or [ROWS n]; or let both ends be before NOW: [BEGIN NOW - INTERVAL ... END NOW].",
            sql=sql,
        )
    if table.unit is not unit:
        raise UnsupportedSql("the times of these streams cannot be compared",
                             detail="One is in whole seconds, another a TIMESTAMP.", sql=sql)  # fmt: skip
    if table.late == "keep":
        raise UnsupportedSql(
            f'"{table.name}" keeps late rows, so it cannot be read continuously',
            detail="Whether such a row is in a window would depend on when it came.",
            hint=f"Reject late rows: ALTER STREAMING TABLE {table.name} SET (late = 'reject').",
            sql=sql,
        )
    query = catalog.queries.get(table.name)
    if query is not None and query.history is None and not window.now:
        raise UnsupportedSql(
            f'"{table.name}" keeps only the results of its last instant',
            hint=f"Keep them longer: ALTER {catalog.kind(table.name).upper()} {table.name} SET RANGE INTERVAL '5' MINUTE;"
            " or read it through [NOW].",
            sql=sql,
        )
    if window.length is not None and table.history is not None and window.length > table.history:
        raise UnsupportedSql(
            f'the window of "{use.alias}" is longer than "{table.name}" keeps its rows',
            detail=f"They are kept for {describe(table.history)}, and the window has {describe(window.length)}.",
            hint=f"Keep them longer: ALTER {catalog.kind(table.name).upper()} {table.name} SET RANGE "
            "INTERVAL ...; or make the window shorter.",
            sql=sql,
        )


def _check_growing(use: Use, bound: Bound, catalog: Catalog, sql: str) -> None:
    """Over a window that only grows, nothing can be kept but running aggregates; and its rows must be there to begin anew."""
    table, window = use.table, use.window
    assert isinstance(table, StreamingTable)
    found: object
    if len(bound.uses) > 1:
        found = Refusal("it reads other tables too")
    elif not isinstance(window, UnboundedWindow):
        found = Refusal(f"it is {window}, not [UNBOUNDED]")
    else:
        found = running_shape(bound.tree, use.columns, bound.functions)
    if isinstance(found, Refusal):
        raise _grows(use, found.reason, sql)
    is_result = table.name in catalog.queries
    if table.history is not None and not (is_result and table.history >= FOREVER):
        kind = catalog.kind(table.name).upper()
        raise UnsupportedSql(
            f'"{table.name}" does not keep its rows for ever, so a window cannot hold all of them',
            hint=f"Keep them: ALTER {kind} {table.name} SET RANGE UNBOUNDED.",
            sql=sql,
        )


def _grows(use: Use, reason: str, sql: str) -> UnsupportedSql:
    return UnsupportedSql(
        f'the window of "{use.alias}" grows without bound',
        detail=f"All rows it will ever hold would have to be kept in memory: {reason}.",
        hint="Use [INTERVAL ...], [LANDMARK DAY], [ROWS ...] or [NOW];"
        " or [UNBOUNDED] with COUNT, SUM, AVG, MIN and MAX of numbers.",
        sql=sql,
    )


def resends(prepared: Prepared) -> str | None:
    """What to warn of when a query is made that sends its whole result at every arrival, and that result is long."""
    query, tree = prepared.query, prepared.bound.tree
    if query.slide is not None or query.gap is not None or query.stream_operator != "rstream":
        return None
    if all(
        u.window is not None and (u.window.now or (u.window.rows == 1 and not u.window.columns))
        for u in prepared.streams
    ):
        return None
    if isinstance(tree, exp.Select):
        grouped = tree.args.get("group") is not None
        aggregated = any(item.find(exp.AggFunc) and not item.find(exp.Window) for item in tree.selects)
        where = tree.args.get("where")
        if (aggregated and not grouped) or (where is not None and names_instant(where)):
            return None  # a row, or those of the instant
    return (
        "with SAMPLE REALTIME it sends all of its result, not only what is new, at the time of every row; "
        "SELECT ISTREAM sends what is new, SELECT RSTREAM says that all is meant"
    )


def without_stars(sql: str, catalog: Catalog) -> str:
    """The text with `*` written out: a query keeps the columns it was made with when a table gets more."""
    tree = read_tree(sql, tokenize(sql))
    if not isinstance(tree, exp.Select):
        return sql
    sources = [tree.args["from_"].this] if tree.args.get("from_") else []
    sources += [j.this for j in tree.args.get("joins") or () if not j.args.get("using") and not j.args.get("method")]
    joined = len(tree.args.get("joins") or ()) + 1
    tables = {t.alias_or_name.lower(): t for t in sources if isinstance(t, exp.Table) and catalog.relation(t.name)}
    if len(tables) != joined:
        return sql
    compared = {
        j.this.alias_or_name.lower() for j in tree.args.get("joins") or () if j.kind.upper() in ("SEMI", "ANTI")
    }
    edits: list[tuple[int, int, str]] = []
    for item in tree.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        span = span_of(item)
        if not isinstance(star, exp.Star) or span is None or any(star.args.get(k) for k in star.args if k != "this"):
            continue
        chosen = [item.table.lower()] if isinstance(item, exp.Column) else [a for a in tables if a not in compared]
        if all(alias in tables for alias in chosen):
            edits.append((span.start, span.end, ", ".join(_shown_by_star(tables[a], catalog) for a in chosen)))
    for start, end, text in reversed(edits):
        sql = sql[:start] + text + sql[end:]
    return sql


def _shown_by_star(table: exp.Table, catalog: Catalog) -> str:
    relation = catalog.relation(table.name)
    assert relation is not None
    columns = relation.columns
    if isinstance(relation, StreamingTable) and table.meta.get(WINDOW) is not None:
        columns = relation.explicit
    alias = table.alias_or_name.replace("`", "``")
    return ", ".join(f"`{alias}`.`{c.name}`" for c in columns)


def replace_window(query: ContinuousQuery, alias: str, window: str) -> str:
    """The query's text with another window behind the table that is called `alias` in it."""
    tree = read_tree(query.sql, tokenize(query.sql))
    names = []
    for table in tree.find_all(exp.Table):
        span = table.meta.get(WINDOW_SPAN)
        if span is None:
            continue
        if alias.lower() == table.alias_or_name.lower():
            if query.grouped and isinstance(table.meta[WINDOW], BeforeWindow):
                raise UnsupportedSql(
                    f'the window of "{alias}" is the group window of "{query.name}"',
                    detail="What the query sends is named after its length.",
                    hint="Drop the query, and create it with another window.",
                )
            return query.sql[: span.start] + window + query.sql[span.end :]
        names.append(table.alias_or_name)
    raise SqlError(
        f'query "{query.name}" has no window of "{alias}"',
        hint=f"A table with an alias goes by the alias. There are windows of {', '.join(names)}." if names else None,
    )
