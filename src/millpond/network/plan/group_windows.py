"""A continuous query that is grouped by windows of time, said natively: each window is sent once, when it is closed.

    SELECT k, window.start, COUNT(*) AS n FROM s GROUP BY k, window(t, '10 seconds')

becomes, at CREATE and in its text,

    SELECT k, (NOW() - INTERVAL '10' SECOND) AS `start`, COUNT(*) AS n FROM s [INTERVAL '10' SECOND BEFORE NOW] GROUP BY k, NOW()

with the ends of windows as instants. At such an instant there is one window, its start and end are known, and the rows of
the instant itself belong to the next. So nothing in the network has to know of group windows.

Invariant: what is sent at the instant `end` are the rows that the query, asked once, gives for the windows with that end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from millpond.catalog import Catalog, StreamingTable
from millpond.duration import TimeUnit
from millpond.errors import Span, SqlError, UnknownName, UnsupportedSql
from millpond.network.plan.sessions import check_sessions
from millpond.sql.dialect import WINDOW, span_of
from millpond.sql.group_windows import (
    COLUMNS,
    GROUP_TABLE,
    Grouped,
    GroupTable,
    GroupWindow,
    Mention,
    grouped_by,
    own_nodes,
    sources_of,
    span,
)
from millpond.sql.query_text import text_of
from millpond.windows.before import BeforeWindow

_UNITS = (("DAY", timedelta(days=1)), ("SECOND", timedelta(seconds=1)), ("MICROSECOND", timedelta(microseconds=1)))


@dataclass(frozen=True)
class Native:
    """The query's text without group windows, and its instants: the multiples of `slide` plus `offset`. One over sessions is kept
    as it is; `gap` ends a session. `grouped` is False of a query that has no group windows: its instants are what it says."""

    text: str
    slide: timedelta | None
    offset: timedelta = timedelta(0)
    gap: timedelta | None = None
    grouped: bool = True


def to_native(query: exp.Expr, text: str, catalog: Catalog, sql: str) -> Native | None:
    """The query as it is evaluated; None if it has no group windows, or only over windows in brackets.

    `text` is that of the query, `sql` the statement it was read from, with the same length up to its end.
    """
    rewriting = _Rewriting(query, catalog, sql)
    for select in query.find_all(exp.Select):
        rewriting.select(select)
    if rewriting.gap is not None:
        return Native(text, None, gap=rewriting.gap)
    if rewriting.instants is None:
        return None
    whole = text_of(query)
    assert whole is not None, "a query that was read has its text"
    shift = whole.tokens[0].start
    for place, becomes in sorted(rewriting.edits, key=lambda edit: edit[0].start, reverse=True):
        text = text[: place.start - shift] + becomes + text[place.end - shift :]
    slide, offset = rewriting.instants
    return Native(text, slide, offset)


class _Rewriting:
    def __init__(self, query: exp.Expr, catalog: Catalog, sql: str) -> None:
        self._query = query
        self._catalog = catalog
        self._sql = sql
        self.instants: tuple[timedelta, timedelta] | None = None
        self.gap: timedelta | None = None
        self.edits: list[tuple[Span, str]] = []

    def select(self, select: exp.Select) -> None:
        sources = {s.alias_or_name.lower(): s for s in sources_of(select)}
        tables = {a: (s, m) for a, s in sources.items() if (m := s.meta.get(GROUP_TABLE)) is not None}
        if len(tables) > 1 and not _joined_by_window(select):
            raise UnsupportedSql(
                "group windows are joined window by window",
                hint="Write ... ON a.window_start = b.window_start AND a.window_end = b.window_end AND ...",
                sql=self._sql,
                span=next(reversed(tables.values()))[1].place,
            )
        for alias, (table, meant) in tables.items():
            stream = self._stream(table, meant.time, meant.place)
            self._close_at(meant.window, stream, meant.place, select)
            self._edit(meant.place, f"{_quoted(table.name)} {BeforeWindow(meant.window.size)}")
            self._columns(select, alias, meant, stream)
        self._stars(select, sources)
        grouped = grouped_by(select, self._sql, self._catalog.functions)
        if grouped is not None:
            self._calls(select, grouped, sources)

    # -- table functions ---------------------------------------------------------------------------------------------------

    def _columns(self, select: exp.Select, alias: str, meant: GroupTable, stream: StreamingTable) -> None:
        """Columns of a table function are known at the instant."""
        for node in own_nodes(select):
            if isinstance(node, exp.Column) and node.name.lower() in COLUMNS and node.table.lower() in ("", alias):
                name = node.name.lower()
                becomes = _moment(stream, meant.window, name.removeprefix("window_"))
                self._edit(span_of(node), becomes + _as(node, name))

    def _stars(self, select: exp.Select, sources: dict[str, exp.Expr]) -> None:
        """`*` shows the columns of a table function too."""
        if not any(s.meta.get(GROUP_TABLE) for s in sources.values()):
            return
        for item in select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                chosen = [item.table.lower()] if isinstance(item, exp.Column) else list(sources)
                self._edit(span_of(item), ", ".join(self._shown(sources[a], item) for a in chosen if a in sources))

    def _shown(self, source: exp.Expr, star: exp.Expr) -> str:
        relation = self._catalog.relation(source.name) if isinstance(source, exp.Table) else None
        if relation is None:
            raise UnsupportedSql(
                "* is not supported beside a group window", hint="Write the columns.", sql=self._sql, span=span_of(star)
            )
        alias = _quoted(source.alias_or_name)
        meant = source.meta.get(GROUP_TABLE)
        columns = relation.explicit if isinstance(relation, StreamingTable) and meant is None else relation.columns
        items = [f"{alias}.{_quoted(c.name)}" for c in columns]
        if meant is not None:
            assert isinstance(relation, StreamingTable)
            parts = (c.removeprefix("window_") for c in COLUMNS)
            items += [f"{_moment(relation, meant.window, p)} AS window_{p}" for p in parts]
        return ", ".join(items)

    # -- calls -------------------------------------------------------------------------------------------------------------

    def _calls(self, select: exp.Select, grouped: Grouped, sources: dict[str, exp.Expr]) -> None:
        table = self._table_of(grouped, sources)
        if table is None:
            return  # of a window in brackets: asked of its content, like any other SELECT
        place = span(grouped.call)
        assert isinstance(grouped.time, exp.Column)
        stream = self._stream(table, grouped.time.name.lower(), place)
        self._close_at(grouped.window, stream, place, select)
        name = span_of(table)
        assert name is not None, "it was read from the text"
        self._edit(Span(name.end, name.end), f" {BeforeWindow(grouped.window.size)}")
        for mention in grouped.mentions:
            self._edit(self._place(mention.node), self._instead(mention, stream, grouped.window))

    def _instead(self, mention: Mention, stream: StreamingTable, window: GroupWindow) -> str:
        if mention.shown != "window":
            return _moment(stream, window, mention.shown) + _as(mention.node, mention.name)
        if mention.node.find_ancestor(exp.Group, exp.Select) is None or not isinstance(mention.node.parent, exp.Group):
            raise UnsupportedSql(
                "a window as a whole cannot be a column of a result",
                detail="It is a struct of start and end.",
                hint=f"Select {_name(mention)}.start and {_name(mention)}.end.",
                sql=self._sql,
                span=self._place(mention.node),
            )
        return "NOW()"

    def _table_of(self, grouped: Grouped, sources: dict[str, exp.Expr]) -> exp.Table | None:
        """The table whose rows are grouped; None if it has a window in brackets."""
        time = grouped.time
        place = span(grouped.call)
        if not isinstance(time, exp.Column):
            raise UnsupportedSql(
                "a continuous query is grouped by windows of a table's time column", sql=self._sql, span=place
            )
        candidates = []
        for alias, source in sources.items():
            if time.table.lower() not in ("", alias):
                continue
            relation = self._catalog.relation(source.name) if isinstance(source, exp.Table) else None
            if relation is not None and time.name in relation.columns and isinstance(source, exp.Table):
                candidates.append(source)
        if not candidates:
            raise UnsupportedSql(
                "a continuous query is grouped by windows of a table's time column",
                detail=f'"{time.name}" is not a column of a table in this FROM.',
                hint="Group inside the subquery, or make it a streaming view and group that by its instant.",
                sql=self._sql,
                span=place,
            )
        if len(candidates) > 1:
            raise SqlError(
                f'column "{time.name}" is ambiguous',
                detail=f"It is in {', '.join(sorted(c.alias_or_name for c in candidates))}.",
                hint=f"Write <table>.{time.name}.",
                sql=self._sql,
                span=span_of(time),
            )
        return None if candidates[0].meta.get(WINDOW) is not None else candidates[0]

    # -- what both need ----------------------------------------------------------------------------------------------------

    def _stream(self, table: exp.Expr, time: str, place: Span | None) -> StreamingTable:
        relation = self._catalog.relation(table.name)
        if relation is None:
            raise UnknownName("table", table.name, self._catalog.relation_names(), sql=self._sql, span=span_of(table))
        if not isinstance(relation, StreamingTable):
            raise UnsupportedSql(
                f'"{table.name}" has no windows', detail="Only streaming tables have.", sql=self._sql, span=place
            )
        if time != relation.time_column.lower():
            if time not in relation.columns:
                where = f' in table "{table.name}"'
                raise UnknownName("column", time, relation.columns.names, where=where, sql=self._sql, span=place)
            raise UnsupportedSql(
                f'a continuous query is grouped by the time of "{table.name}", which is "{relation.time_column}"',
                detail="When a window of another column is complete cannot be known.",
                sql=self._sql,
                span=place,
            )
        return relation

    def _close_at(self, window: GroupWindow, stream: StreamingTable, place: Span | None, select: exp.Select) -> None:
        """Note when windows close: all windows of a query at the same instants."""
        for length in (window.size, window.slide, abs(window.offset)):
            try:
                stream.unit.count(length)
            except SqlError as error:
                raise error.at(self._sql, place) from None
        if window.kind == "session":
            check_sessions(select, self._query, self._sql, place)
            if self.instants is not None or self.gap is not None:
                raise self._several(window, place)
            self.gap = window.size
            return
        instants = (window.slide, window.end_offset)
        if self.gap is not None or (self.instants is not None and self.instants != instants):
            raise self._several(window, place)
        self.instants = instants

    def _several(self, window: GroupWindow, place: Span | None) -> UnsupportedSql:
        return UnsupportedSql(
            "the windows of a continuous query end at the same times",
            detail=f"These are {window}, others of this query end at other times.",
            hint="Make them streaming views, and join these.",
            sql=self._sql,
            span=place,
        )

    def _edit(self, place: Span | None, becomes: str) -> None:
        assert place is not None, "it was read from the text"
        self.edits.append((place, becomes))

    def _place(self, node: exp.Expr) -> Span:
        """A mention from its first to its last character."""
        text = text_of(self._query)
        assert text is not None, "a query that was read has its text"
        if isinstance(node, exp.Column):
            found = span_of(node)
        else:
            call = node.this if isinstance(node, exp.Dot) else node
            name = span(call)
            found = None if name is None else text.call(name)
            if found is not None and isinstance(node, exp.Dot):
                last = span(node.expression)
                found = None if last is None else Span(found.start, last.end)
        assert found is not None, "it was read from the text"
        return found


def _joined_by_window(select: exp.Select) -> bool:
    """Whether a condition says that the windows of two tables are the same."""
    for node in own_nodes(select):
        sides = (node.this, node.expression) if isinstance(node, exp.EQ) else ()
        names = {side.name.lower() for side in sides if isinstance(side, exp.Column)}
        if len(sides) == 2 and names == {"window_end"}:
            return True
    return False


def _name(mention: Mention) -> str:
    node = mention.node
    return node.name.lower() if node.name.lower() in ("window", "session_window") else "window"


def _as(node: exp.Expr, name: str) -> str:
    """The alias that keeps a column's name, if the node is all of a selected item."""
    parent = node.parent
    is_item = isinstance(parent, exp.Select) and any(e is node for e in parent.expressions)
    return f" AS {_quoted(name)}" if is_item else ""


def _moment(stream: StreamingTable, window: GroupWindow, shown: str) -> str:
    """A part of a window as the instant, its end, has it."""
    whole = stream.unit is TimeUnit.SECOND
    if shown == "end":
        return "NOW()"
    if shown == "time":
        return "(NOW() - 1)" if whole else "(NOW() - INTERVAL '1' MICROSECOND)"
    if whole:
        return f"(NOW() - {stream.unit.count(window.size)})"
    text, rest = "NOW()", window.size
    for unit, one in _UNITS:
        count, rest = divmod(rest, one)
        if count:
            text += f" - INTERVAL '{count}' {unit}"
    return f"({text})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
