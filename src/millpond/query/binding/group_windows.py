"""Group windows in a query that is asked once: `GROUP BY window(...)`, `FROM TUMBLE(TABLE s, ...)` and their like.

The tree is given plain SQL for them, which DuckDB is proved to answer: arithmetic on the time of a row, and for hops and sessions
a subquery in place of the table. Spark gets the user's own text. There its own window() and session_window() stay as they are;
what it does not know (table functions, TUMBLE_START, times that are whole numbers) is replaced at its place.

Where the time is a whole number, a window's start and end are whole numbers too, and lengths of time count seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from millpond.catalog import Catalog
from millpond.duration import TimeUnit
from millpond.errors import Span, SqlError, TypeMismatch, UnknownName, UnsupportedSql, counted
from millpond.query.binding.texts import TextChanges, quoted
from millpond.sql.dialect import read_tree, span_of, tokenize
from millpond.sql.group_windows import (
    FUNCTIONS,
    GROUP_TABLE,
    Grouped,
    GroupTable,
    GroupWindow,
    Mention,
    grouped_by,
    names_group_windows,
    sources_of,
    span,
)

_MOST_HOPS = 100_000  # windows that a row is in
_PARTS = ("window_start", "window_end", "window_time")
_START, _END = "__window_start", "__window_end"


def expand_group_windows(tree: exp.Expr, catalog: Catalog, sql: str, changes: TextChanges) -> None:
    """Say group windows in plain SQL, in the tree, and in Spark's words in the text."""
    if not names_group_windows(tree):
        return
    for select in list(tree.find_all(exp.Select)):
        for source in list(sources_of(select)):
            meant = source.meta.get(GROUP_TABLE)
            if meant is not None:
                assert isinstance(source, exp.Table)
                _expand_table(source, meant, catalog, sql, changes)
        grouped = grouped_by(select, sql, catalog.functions)
        if grouped is not None:
            _Calls(select, grouped, catalog, sql, changes).expand()


# -- what a window is, in SQL ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Clock:
    """Times of a column as whole numbers: seconds, or microseconds of a TIMESTAMP."""

    unit: TimeUnit

    @property
    def is_whole(self) -> bool:
        return self.unit is TimeUnit.SECOND

    def read(self, column: str) -> str:
        return f"CAST({column} AS BIGINT)" if self.is_whole else f"unix_micros({column})"

    def written(self, number: str) -> str:
        return number if self.is_whole else f"timestamp_micros({number})"

    def count(self, length: timedelta) -> int:
        return self.unit.count(length) if length >= timedelta(0) else -self.unit.count(-length)

    def start(self, column: str, window: GroupWindow) -> str:
        """The start of the last window that a row is in."""
        time, offset = self.read(column), self.count(window.offset)
        since = f"{time} - {offset}" if offset > 0 else f"{time} + {-offset}" if offset else time
        return f"({time} - pmod({since}, {self.count(window.slide)}))"


def _clock(catalog: Catalog, table: exp.Expr, column: str, sql: str, place: Span | None) -> _Clock | None:
    """None if the column is of another type; raises if it does not exist."""
    relation = catalog.relation(table.name)
    if relation is None:
        raise UnknownName("table", table.name, catalog.relation_names(), sql=sql, span=span_of(table))
    if column not in relation.columns:
        where = f' in table "{table.name}"'
        raise UnknownName("column", column, relation.columns.names, where=where, sql=sql, span=place)
    kind = relation.columns.find(column, table.name).type
    if kind.is_integer:
        return _Clock(TimeUnit.SECOND)
    return _Clock(TimeUnit.MICROSECOND) if kind.name == "TIMESTAMP" else None


def _check_lengths(clock: _Clock, window: GroupWindow, sql: str, place: Span | None) -> None:
    try:
        for length in (window.size, window.slide, window.offset):
            clock.count(length)
    except SqlError as error:
        raise error.at(sql, place) from None
    if -(-window.size // window.slide) > _MOST_HOPS:
        raise UnsupportedSql(
            f"a row would be in more than {counted(_MOST_HOPS, 'window')}", hint="Make the slide longer.", sql=sql,
            span=place,
        )  # fmt: skip


def _rows(
    clock: _Clock,
    window: GroupWindow,
    columns: list[str],
    time: str,
    keys: list[str],
    outputs: tuple[str, ...],
    where: str = "",
) -> tuple[str, str]:
    """A subquery for the rows of a table with their windows: what stands before the table's name, and after it.

    `outputs` name the start, the end and perhaps the time of the window.
    """
    listed, size = ", ".join(columns), clock.count(window.size)
    there = f" WHERE {time} IS NOT NULL{f' AND ({where})' if where else ''}"

    def shown(start: str, end: str) -> str:
        values = (start, end, f"{end} - 1")
        items = (f"{clock.written(v)} AS {o}" for v, o in zip(values, outputs, strict=False))
        return f"SELECT {listed}, {', '.join(items)} FROM "

    if window.kind == "tumble":
        start = clock.start(time, window)
        return f"({shown(start, f'{start} + {size}')}", f"{there})"
    if window.kind == "hop":
        slide = clock.count(window.slide)
        hops = ", ".join(f"({n})" for n in range(-(-size // slide)))
        first = f"{clock.start(time, window)} - CAST(__hops.col1 AS BIGINT) * {slide}"
        inner = f"SELECT {listed}, {first} AS __first FROM "
        return (
            f"({shown('__first', f'__first + {size}')}({inner}",
            f" CROSS JOIN (VALUES {hops}) AS __hops{there}) AS __hopped WHERE {clock.read(time)} < __first + {size})",
        )
    now = clock.read(time)
    # Keys are computed once: DuckDB takes no expression that may fail in a PARTITION BY.
    source = "".join(f", {key} AS __key{n}" for n, key in enumerate(keys))
    keys = [f"__key{n}" for n in range(len(keys))]
    kept = ", ".join([*columns, *keys])
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    session = f"OVER (PARTITION BY {', '.join([*keys, '__session'])})"
    before = f"lag({now}) OVER ({by}ORDER BY {time})"
    return (
        f"({shown('__first', '__last')}"
        f"(SELECT {listed}, min({now}) {session} AS __first, max({now}) {session} + {size} AS __last FROM "
        f"(SELECT {kept}, sum(__begins) OVER ({by}ORDER BY {time}) AS __session FROM "
        f"(SELECT {kept}, CASE WHEN {now} <= {before} + {size} THEN 0 ELSE 1 END AS __begins FROM "
        f"(SELECT {listed}{source} FROM ",
        f"{there}) AS __rows) AS __beginnings) AS __sessions) AS __bounds)",
    )


def _subquery(before: str, table: exp.Table, after: str, alias: str) -> exp.Subquery:
    """The tree of such a subquery around a table's own node."""
    text = f"SELECT * FROM {before}{quoted(table.name)}{after} AS {quoted(alias)}"
    made = read_tree(text, tokenize(text))
    source = made.args["from_"].this
    for node in source.walk():
        node.meta.pop("start", None)
        node.meta.pop("end", None)
    inner = next(t for t in source.find_all(exp.Table) if t.name == table.name)
    inner.replace(table)
    assert isinstance(source, exp.Subquery)
    return source


def _expression(text: str) -> exp.Expr:
    made: exp.Expr = read_tree(f"SELECT {text}", tokenize(f"SELECT {text}")).expressions[0]
    for node in made.walk():
        node.meta.pop("start", None)
        node.meta.pop("end", None)
    return made


# -- table functions ------------------------------------------------------------------------------------------------------


def _expand_table(table: exp.Table, meant: GroupTable, catalog: Catalog, sql: str, changes: TextChanges) -> None:
    clock = _clock(catalog, table, meant.time, sql, meant.place)
    relation = catalog.relation(table.name)
    assert relation is not None, "the clock knows it"
    if clock is None:
        raise TypeMismatch(
            f'column "{meant.time}" has no times to group by',
            detail=f"It is a {relation.columns.find(meant.time, table.name).type}.",
            hint="Group by a TIMESTAMP, or by whole numbers (seconds).",
            sql=sql,
            span=meant.place,
        )
    _check_lengths(clock, meant.window, sql, meant.place)
    for name in (*meant.keys, *_PARTS):
        if (name in relation.columns) == (name in _PARTS):
            if name in _PARTS:
                raise UnsupportedSql(f'table "{table.name}" has a column "{name}" already', sql=sql, span=meant.place)
            where = f' in table "{table.name}"'
            raise UnknownName("column", name, relation.columns.names, where=where, sql=sql, span=meant.place)
    columns = [quoted(c.name) for c in relation.columns]
    keys = [quoted(k) for k in meant.keys]
    before, after = _rows(clock, meant.window, columns, quoted(meant.time), keys, _PARTS)
    alias = table.alias_or_name
    changes.around(table, meant.place, before, after + ("" if table.alias else f" AS {quoted(alias)}"))
    table.meta.pop(GROUP_TABLE)
    joins, own = table.args.get("joins"), table.copy()
    own.set("alias", None)
    own.set("joins", None)
    made = _subquery(before, own, after, alias)
    if table.args.get("alias") is not None:
        made.set("alias", table.args["alias"].copy())
    if joins:
        made.set("joins", joins)
    table.replace(made)


# -- calls ----------------------------------------------------------------------------------------------------------------


class _Calls:
    """The calls of one SELECT."""

    def __init__(self, select: exp.Select, grouped: Grouped, catalog: Catalog, sql: str, changes: TextChanges) -> None:
        self._select = select
        self._grouped = grouped
        self._catalog = catalog
        self._sql = sql
        self._changes = changes
        self._table = self._find_table()
        self._clock: _Clock | None = None
        if self._table is not None:
            assert isinstance(grouped.time, exp.Column)
            self._clock = _clock(catalog, self._table, grouped.time.name, sql, span(grouped.call))

    def expand(self) -> None:
        if self._clock is not None:
            _check_lengths(self._clock, self._grouped.window, self._sql, span(self._grouped.call))
        self._change_text()
        if self._clock is None or not self._in_plain_sql(self._clock):
            self._keep_calls()

    def _find_table(self) -> exp.Table | None:
        """The table that the time is a column of, if it is one of the pond."""
        time = self._grouped.time
        if not isinstance(time, exp.Column):
            return None
        found = []
        for source in sources_of(self._select):
            relation = self._catalog.relation(source.name) if isinstance(source, exp.Table) else None
            named = time.table.lower() in ("", source.alias_or_name.lower())
            if relation is not None and named and time.name in relation.columns:
                found.append(source)
        return found[0] if len(found) == 1 and isinstance(found[0], exp.Table) else None

    # -- the tree ----------------------------------------------------------------------------------------------------------

    def _in_plain_sql(self, clock: _Clock) -> bool:
        """Whether it could be said in plain SQL; the tree is as it was if not."""
        mentions = self._grouped.mentions
        if any(m.shown == "window" and not isinstance(m.node.parent, exp.Group) for m in mentions):
            return False  # a struct
        if self._grouped.window.kind == "tumble":
            self._inline(clock)
            return True
        return self._in_subquery(clock)

    def _inline(self, clock: _Clock) -> None:
        window, time = self._grouped.window, self._grouped.time.sql("spark", identify=True)
        start, size = clock.start(time, window), clock.count(window.size)
        texts = {"start": start, "end": f"{start} + {size}", "time": f"{start} + {size} - 1"}
        self._replace({shown: clock.written(text) for shown, text in texts.items()})
        assert self._table is not None, "it has a clock"
        relation = self._catalog.relation(self._table.name)
        always = self._grouped.time.name.lower() == getattr(relation, "time_column", "").lower()
        if not always or not _keeps_rows(self._select, self._table):
            self._select.where(_expression(f"{time} IS NOT NULL"), copy=False)

    def _in_subquery(self, clock: _Clock) -> bool:
        select, table, window = self._select, self._table, self._grouped.window
        assert table is not None, "it has a clock"
        items = [e.this if isinstance(e, exp.Column) else e for e in select.expressions]
        if any(isinstance(e, exp.Star) for e in items) or not _keeps_rows(select, table):
            return False
        keys: list[str] = []
        where = ""
        if window.kind == "session":
            if len(list(sources_of(select))) > 1 or select.args.get("laterals"):
                return False
            found = self._keys()
            if found is None:
                return False
            keys = found
            clause = select.args.get("where")
            if clause is not None:
                if clause.find(exp.Query) is not None:
                    return False
                where = clause.this.sql("spark", identify=True)
                select.set("where", None)
        relation = self._catalog.relation(table.name)
        assert relation is not None, "it was found"
        columns = [quoted(c.name) for c in relation.columns]
        alias = table.alias_or_name
        time = quoted(self._grouped.time.name)
        own = table.copy()
        before, after = _rows(clock, window, columns, time, keys, (_START, _END), where)
        made = _subquery(before, own, after, alias)
        joins = own.args.get("joins")
        if joins:
            own.set("joins", None)
            made.set("joins", joins)
        table.replace(made)
        last = f"{clock.read(f'{quoted(alias)}.{_END}')} - 1"
        self._replace(
            {
                "start": f"{quoted(alias)}.{_START}",
                "end": f"{quoted(alias)}.{_END}",
                "time": clock.written(last),
            }
        )
        return True

    def _keys(self) -> list[str] | None:
        """What a SELECT is grouped by besides the window, as expressions of a row; None if that is not said in a list."""
        group = self._select.args.get("group")
        if group is None or any(v for k, v in group.args.items() if k != "expressions"):
            return None
        mentioned = {id(m.node) for m in self._grouped.mentions}
        assert self._table is not None, "it has a clock"
        relation = self._catalog.relation(self._table.name)
        assert relation is not None, "it was found"
        items = {e.alias.lower(): e.this for e in self._select.expressions if isinstance(e, exp.Alias)}
        keys = []
        for key in group.expressions:
            if id(key) in mentioned:
                continue
            if isinstance(key, exp.Column) and not key.table and key.name not in relation.columns:
                key = items.get(key.name.lower(), key)
            if isinstance(key, (exp.Literal, exp.Cube, exp.Rollup, exp.GroupingSets, exp.Tuple)):
                return None
            if key.find(exp.Query) or any(id(node) in mentioned for node in key.walk()):
                return None
            keys.append(key.sql("spark", identify=True))
        return keys

    def _replace(self, texts: dict[str, str]) -> None:
        for mention in self._grouped.mentions:
            node = mention.node
            if mention.shown == "window":  # a key: its start and end
                group = node.parent
                assert isinstance(group, exp.Group)
                group.append("expressions", _expression(texts["end"]))
                node.replace(_expression(texts["start"]))
                continue
            node.replace(_named(mention, _expression(texts[mention.shown])))

    def _keep_calls(self) -> None:
        """Names that stand for the window become calls, so that their columns can be resolved; Spark answers."""
        for mention in self._grouped.mentions:
            node = mention.node
            if isinstance(node, exp.Column):
                call: exp.Expr = self._grouped.call.copy()
                if mention.shown != "window":
                    call = exp.Dot(this=call, expression=exp.to_identifier(mention.shown))
                node.replace(_named(mention, call))

    # -- the text ----------------------------------------------------------------------------------------------------------

    def _change_text(self) -> None:
        """What Spark's window() does not take is said in its words."""
        grouped, whole = self._grouped, self._clock is not None and self._clock.is_whole
        calls = [n for m in grouped.mentions for n in m.node.find_all(exp.Anonymous)]
        known = all(c.name.lower() not in FUNCTIONS and not c.find(exp.Interval) for c in calls)
        if known and not whole and all(m.shown != "time" for m in grouped.mentions):
            return
        name = "session_window" if grouped.window.kind == "session" else "window"
        time = grouped.time.sql("spark", identify=True)
        lengths = [grouped.window.size]
        if name == "window" and grouped.window != GroupWindow("tumble", grouped.window.size, grouped.window.slide):
            lengths += [grouped.window.slide, grouped.window.offset]
        written = ", ".join(f"'{length // timedelta(microseconds=1)} microseconds'" for length in lengths)
        call = f"{name}({f'timestamp_seconds({time})' if whole else time}, {written})"
        keyed = any(m.shown == "window" and isinstance(m.node.parent, exp.Group) for m in grouped.mentions)
        meant = name if keyed else call
        for mention in grouped.mentions:
            if mention.shown == "window" and isinstance(mention.node.parent, exp.Group):
                text = call
            elif mention.shown == "window":
                text = _struct(meant) if whole else meant
            else:
                text = f"{meant}.{'start' if mention.shown == 'start' else 'end'}"
                text = f"unix_seconds({text})" if whole else text
                if mention.shown == "time":
                    text = f"({text} - 1)" if whole else f"({text} - INTERVAL '1' MICROSECOND)"
            self._changes.mention(mention.node, text + (f" AS {quoted(mention.name)}" if _is_item(mention) else ""))


def _struct(window: str) -> str:
    return f"named_struct('start', unix_seconds({window}.start), 'end', unix_seconds({window}.end))"


def _named(mention: Mention, made: exp.Expr) -> exp.Expr:
    """With the name that Spark gives the mention, if it is all of a selected item."""
    return exp.alias_(made, mention.name, quoted=True) if _is_item(mention) else made


def _is_item(mention: Mention) -> bool:
    parent = mention.node.parent
    return isinstance(parent, exp.Select) and any(e is mention.node for e in parent.expressions)


def _keeps_rows(select: exp.Select, table: exp.Table) -> bool:
    """Whether a join gives each row of the table as it is, or not at all; never NULLs in its place."""
    joins = select.args.get("joins") or ()
    if any(join.side in ("RIGHT", "FULL") for join in joins):
        return False
    return not any(join.this is table and join.side == "LEFT" for join in joins)
