"""Group windows: how a user of Spark or Flink says that rows are grouped by time, and what is meant.

    GROUP BY window(t, '10 seconds'[, '5 seconds'[, '1 second']]), session_window(t, '5 minutes')     Spark's
    FROM TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '10' SECOND), HOP(...), SESSION(...)                 Flink's, RisingWave's
    GROUP BY TUMBLE(t, INTERVAL '10' SECOND), with TUMBLE_START(t, INTERVAL '10' SECOND)              Flink's older ones

All of them mean a `GroupWindow`. A table function is read here and kept in the meta of the `exp.Table` that it is over
(`GROUP_TABLE`), as a window in brackets is. Calls stay calls; `grouped_by` finds them and the names that stand for them. What
becomes of them is decided where the tables are known: `query.binding.group_windows` for a query that is asked once,
`network.plan.group_windows` for a continuous one.

A window is [start, end): a row whose time is an end belongs to the next window. A session goes on as long as the next row of its
key comes no later than `size` after the last one.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from sqlglot import exp

from millpond.duration import describe, duration
from millpond.errors import Span, SqlError, SqlSyntaxError, UnsupportedSql
from millpond.sql.cursor import TokenCursor

GROUP_TABLE: Final = "group_table"  # in the meta of an exp.Table: its GroupTable

COLUMNS: Final = ("window_start", "window_end", "window_time")
"""What a table function adds to the columns of its table."""

_NONE: Final = timedelta(0)
_TABLE_FUNCTIONS: Final = ("TUMBLE", "HOP", "SESSION", "CUMULATE")
_CALLS: Final = ("window", "session_window", "tumble", "hop", "session")
_PARTS: Final = {
    f"{kind}_{part}": (kind, shown)
    for kind in ("tumble", "hop", "session")
    for part, shown in (("start", "start"), ("end", "end"), ("rowtime", "time"))
}
_NAMED: Final = ("window", "session_window")
FUNCTIONS: Final = frozenset({"tumble", "hop", "session", *_PARTS})
"""The calls that Spark does not know."""

_LENGTH: Final = re.compile(r"\s*(?:interval\s+)?((?:[+-]?\d+(?:\.\d+)?\s*[a-z]+\s*)+)", re.IGNORECASE)
_TERM: Final = re.compile(r"([+-]?)(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


@dataclass(frozen=True)
class GroupWindow:
    """`kind` is tumble, hop or session. Windows of `size` begin at each multiple of `slide` plus `offset`; of a session `size`
    is the gap that ends it."""

    kind: str
    size: timedelta
    slide: timedelta
    offset: timedelta = _NONE

    @property
    def end_offset(self) -> timedelta:
        """Where windows end: at the multiples of `slide` plus this."""
        return (self.offset + self.size) % self.slide

    def __str__(self) -> str:
        if self.kind == "session":
            return f"sessions with gaps of {describe(self.size)}"
        every = f" every {describe(self.slide)}" if self.slide != self.size else ""
        return f"windows of {describe(self.size)}{every}"


@dataclass(frozen=True)
class GroupTable:
    """A table function over a table: the column of its time, the keys of its sessions, and the place of the call."""

    window: GroupWindow
    time: str
    keys: tuple[str, ...]
    place: Span


# -- table functions ------------------------------------------------------------------------------------------------------


def at_group_table(text: TokenCursor) -> bool:
    """Whether a table function of group windows stands here, by itself or in TABLE( )."""
    ahead = 2 if text.at("TABLE", "(") else 0
    if text.word(ahead) not in _TABLE_FUNCTIONS or text.word(ahead + 1) != "(":
        return False
    first, then = text.word(ahead + 2), text.word(ahead + 3)
    return first == "TABLE" or then in (",", "=>", "PARTITION")


def read_group_table(text: TokenCursor) -> tuple[int, GroupTable]:
    """The table function here: the place of its table's name among the tokens, and what is meant."""
    begin = text.index
    wrapped = text.accept("TABLE", "(")
    kind = text.word()
    if kind == "CUMULATE":
        raise UnsupportedSql(
            "CUMULATE is not supported",
            hint="Say it natively: t [LANDMARK DAY] ... SAMPLE INTERVAL '1' HOUR sends each hour what there is of the day.",
            sql=text.sql,
            span=text.span(begin, begin + 1),
        )
    text.expect(kind, "(")
    _named(text, "DATA")
    text.accept("TABLE")
    name = text.index
    text.name("table")
    keys: tuple[str, ...] = ()
    if text.accept("PARTITION", "BY") or text.accept("PARTITION BY"):
        if kind != "SESSION":
            raise UnsupportedSql(
                f"{kind} has no PARTITION BY", detail="All keys have the same windows.", hint="Leave it out.",
                sql=text.sql, span=text.span(text.index - 1),
            )  # fmt: skip
        keys = _keys(text)
    text.expect(",", after="the table")
    _named(text, "TIMECOL")
    if text.accept("DESCRIPTOR", "("):
        time = text.name("column")
        text.expect(")")
    else:
        time = text.name("column")
    lengths = []
    place = text.index
    while text.accept(","):
        _named(text, "SIZE", "SLIDE", "GAP", "OFFSET")
        lengths.append(text.interval())
    fewest, most = {"TUMBLE": (1, 2), "HOP": (2, 3), "SESSION": (1, 1)}[kind]
    if not fewest <= len(lengths) <= most:
        raise SqlSyntaxError(
            f"{kind} is written {_WRITTEN[kind]}", sql=text.sql, span=text.span(begin, max(place, begin + 1))
        )
    text.expect(")")
    if wrapped:
        text.expect(")")
    where = text.span(begin)
    if kind == "HOP":
        lengths[0], lengths[1] = lengths[1], lengths[0]  # the slide is written before the size
    window = _checked(kind.lower(), lengths, text.sql, where)
    return name, GroupTable(window, time.lower(), tuple(k.lower() for k in keys), where)


_WRITTEN: Final = {
    "TUMBLE": "TUMBLE(TABLE t, DESCRIPTOR(<time>), <size>[, <offset>])",
    "HOP": "HOP(TABLE t, DESCRIPTOR(<time>), <slide>, <size>[, <offset>])",
    "SESSION": "SESSION(TABLE t [PARTITION BY <key>, ...], DESCRIPTOR(<time>), <gap>)",
}


def _named(text: TokenCursor, *names: str) -> None:
    """`NAME =>` before an argument."""
    for name in names:
        if text.accept(name, "=>"):
            return


def _keys(text: TokenCursor) -> tuple[str, ...]:
    if text.accept("("):
        found = text.names("column")
        text.expect(")")
        return found
    found = (text.name("column"),)
    while text.word(2) in (",", ")") and text.word(1) not in ("DESCRIPTOR", "=>", "INTERVAL") and text.accept(","):
        found = (*found, text.name("column"))
    return found


# -- calls ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mention:
    """A node of a SELECT that means a part of its window: `start`, `end` or `time`; `window` is all of it."""

    node: exp.Expr = field(compare=False)
    shown: str

    @property
    def name(self) -> str:
        """What Spark calls a column that is this and nothing more."""
        node = self.node
        if isinstance(node, exp.Column):
            return node.name.lower()
        if isinstance(node, exp.Dot):
            return f"{node.this.name.lower()}.{node.expression.name.lower()}"
        return node.name.lower()


@dataclass(frozen=True)
class Grouped:
    """The window by which a SELECT groups with calls, the column of its time, and every mention of it."""

    window: GroupWindow
    time: exp.Expr = field(compare=False)
    call: exp.Anonymous = field(compare=False)
    mentions: tuple[Mention, ...] = field(compare=False)


def names_group_windows(tree: exp.Expr) -> bool:
    """Whether a query groups by windows of time, with calls or table functions."""
    return any(
        _is_call(node) or (isinstance(node, exp.Table) and node.meta.get(GROUP_TABLE) is not None)
        for node in tree.walk()
    )


def own_nodes(select: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of a SELECT, without those of the queries in it."""
    waiting = list(select.iter_expressions(reverse=True))
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query) and not isinstance(node, exp.Table):
            continue
        yield node
        waiting.extend(node.iter_expressions(reverse=True))


def grouped_by(select: exp.Select, sql: str, own: Container[str] = ()) -> Grouped | None:
    """The window that a SELECT names in calls, if it does. `own` are names of the user's functions, which go before."""
    nodes = list(own_nodes(select))
    calls = [
        node for node in nodes if isinstance(node, exp.Anonymous) and _is_call(node) and node.name.lower() not in own
    ]
    if not calls:
        return None
    first = calls[0]
    window = _read_call(first, sql)
    time = first.expressions[0]
    for other in calls[1:]:
        if _read_call(other, sql) != window or other.expressions[0] != time:
            raise UnsupportedSql(
                "a SELECT groups by one window", detail="A row would be in the windows of each, in all combinations.",
                hint="Ask one query for each window.", sql=sql, span=span(other),
            )  # fmt: skip
    name = "session_window" if window.kind == "session" else "window"
    names = {name} & {call.name.lower() for call in calls}
    hidden = {source.alias_or_name.lower() for source in sources_of(select)}
    found = [m for node in nodes if (m := _mention(node, names - hidden)) is not None]
    return Grouped(window, time, first, tuple(found))


def sources_of(select: exp.Select) -> Iterator[exp.Expr]:
    """What stands in its FROM."""
    clause = select.args.get("from_")
    if clause is not None:
        yield clause.this
    for join in select.args.get("joins") or ():
        yield join.this


def _is_call(node: exp.Expr) -> bool:
    if not isinstance(node, exp.Anonymous) or isinstance(node.parent, exp.Table):
        return False
    name = node.name.lower()
    return name in _CALLS or name in _PARTS


def _mention(node: exp.Expr, names: set[str]) -> Mention | None:
    parent = node.parent
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name in _PARTS:
            return Mention(node, _PARTS[name][1])
        if name == "window_time" and len(node.expressions) == 1 and _means_window(node.expressions[0], names):
            return Mention(node, "time")
        within = isinstance(parent, exp.Dot) or (
            isinstance(parent, exp.Anonymous) and parent.name.lower() == "window_time"
        )
        return Mention(node, "window") if name in _CALLS and not within else None
    if isinstance(node, exp.Dot) and isinstance(node.this, exp.Anonymous) and node.this.name.lower() in _CALLS:
        shown = node.expression.name.lower()
        return Mention(node, shown) if shown in ("start", "end") else None
    if isinstance(node, exp.Column):
        if node.table.lower() in names and node.name.lower() in ("start", "end"):
            return Mention(node, node.name.lower())
        if not node.table and node.name.lower() in names:
            within = isinstance(parent, exp.Anonymous) and parent.name.lower() == "window_time"
            return None if within else Mention(node, "window")
    return None


def _means_window(node: exp.Expr, names: set[str]) -> bool:
    if isinstance(node, exp.Column):
        return not node.table and node.name.lower() in names
    return isinstance(node, exp.Anonymous) and node.name.lower() in _CALLS


def _read_call(call: exp.Anonymous, sql: str) -> GroupWindow:
    name = call.name.lower()
    kind = _PARTS[name][0] if name in _PARTS else name
    given = call.expressions
    spark = name in _NAMED
    most = {"window": 4, "session_window": 2, "tumble": 2, "hop": 3, "session": 2}[kind]
    fewest = 3 if kind == "hop" else 2
    if not fewest <= len(given) <= most:
        raise SqlSyntaxError(f"{name} is written {_CALLED[kind].replace(kind, name, 1)}", sql=sql, span=span(call))
    lengths = [_length(each, call, sql, texts=spark) for each in given[1:]]
    if kind == "hop":
        lengths[0], lengths[1] = lengths[1], lengths[0]
    kind = {"window": "hop" if len(given) > 2 else "tumble", "session_window": "session"}.get(kind, kind)
    return _checked(kind, lengths, sql, span(call))


_CALLED: Final = {
    "window": "window(<time>, '10 seconds'[, <slide>[, <offset>]])",
    "session_window": "session_window(<time>, '5 minutes')",
    "tumble": "tumble(<time>, INTERVAL '10' SECOND)",
    "hop": "hop(<time>, <slide>, <size>)",
    "session": "session(<time>, INTERVAL '5' MINUTE)",
}


def _length(node: exp.Expr, call: exp.Anonymous, sql: str, *, texts: bool) -> timedelta:
    """A length of time as an argument; one with a sign may be negative."""
    text = None
    if isinstance(node, exp.Literal) and node.is_string and texts:
        text = node.name
    elif isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal):
        text = f"{node.this.name} {node.text('unit')}"
    if text is None:
        raise SqlError(
            f"{call.name.lower()} needs lengths of time that are constants",
            hint=f"Write {_CALLED.get(call.name.lower(), _CALLED['window'])}.",
            sql=sql,
            span=span(call),
        )
    try:
        return read_length(text)
    except SqlError as error:
        raise error.at(sql, span_inside(node) or span(call)) from None


def read_length(text: str) -> timedelta:
    """A length of time as Spark's window() takes it; it may have several units and signs.

    >>> read_length("1 minute 30 seconds")
    datetime.timedelta(seconds=90)
    """
    if _LENGTH.fullmatch(text) is None:
        raise SqlError(f'"{text}" is not a length of time', hint="Write a number and a unit, for example '10 seconds'.")
    total = _NONE
    for sign, amount, unit in _TERM.findall(text):
        one = duration(int(amount) if amount.isdecimal() and len(amount) <= 18 else amount, unit)
        total += -one if sign == "-" else one
    return total


def _checked(kind: str, lengths: list[timedelta], sql: str, place: Span | None) -> GroupWindow:
    """Lengths in the order size, slide, offset (a tumbling window has no slide)."""
    size = lengths[0]
    slide = size
    offset = _NONE
    if kind == "hop":
        slide = lengths[1]
        offset = lengths[2] if len(lengths) > 2 else _NONE
    elif len(lengths) > 1:
        offset = lengths[1]
    if size <= _NONE or slide <= _NONE:
        raise SqlError("a window has a length of more than 0", sql=sql, span=place)
    if slide > size:
        raise UnsupportedSql(
            f"windows of {describe(size)} every {describe(slide)} leave rows out",
            hint="Make the slide at most as long as the windows, and say in WHERE which rows count.",
            sql=sql,
            span=place,
        )
    if abs(offset) >= slide:
        raise SqlError("the offset of a window is shorter than its slide", sql=sql, span=place)
    return GroupWindow("tumble" if slide == size and kind == "hop" else kind, size, slide, offset)


def span(node: exp.Expr) -> Span | None:
    start = node.meta_get("start")
    return None if start is None else Span(start, node.meta_get("end") + 1)


def span_inside(node: exp.Expr) -> Span | None:
    return span(node.this) if isinstance(node, exp.Interval) else span(node)
