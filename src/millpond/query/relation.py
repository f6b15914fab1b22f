"""A relation as SQL: how tail and archive of a table, seen through its window, are said to an engine.

Both engines get the same shape: the rows of the files, united with the rows of the tail, cut by the window. Rows are
taken in decreasing (time, row number), so that equal times are ordered by arrival everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from millpond.catalog import StreamingTable
from millpond.query.binding.uses import Use
from millpond.query.instant import written_moment
from millpond.schema import SEQ, DataType, Schema
from millpond.table.thinning import Piece, Step


@dataclass(frozen=True)
class Words:
    """How an engine writes a name and an instant."""

    mark: str
    timestamp: str

    def quote(self, name: str) -> str:
        return self.mark + name.replace(self.mark, self.mark * 2) + self.mark

    def names(self, columns: Iterable[str]) -> str:
        return ", ".join(self.quote(c) for c in columns)


DUCKDB = Words('"', "TIMESTAMPTZ")
SPARK = Words("`", "TIMESTAMP")


def as_now(columns: Schema, have: Sequence[str], words: Words, type_name: Callable[[DataType], str]) -> str:
    """The items of a SELECT that gives the columns a table has now from files that may be older than some of them."""
    items = []
    for column in columns:
        name = words.quote(column.name)
        items.append(name if column.name in have else f"CAST(NULL AS {type_name(column.type)}) AS {name}")
    return ", ".join(items)


FILE = "_file"
"""The column that says which file of a reduced reading a row is from: its number in the order of `piece_groups` on DuckDB, its
path on Spark; -1 or "" for the tail."""


def piece_groups(step: Step) -> dict[tuple[tuple[str, ...], int | None], list[Piece]]:
    """The pieces of a step by what is said alike of them to an engine: the columns they have, and how they are thinned."""
    groups: dict[tuple[tuple[str, ...], int | None], list[Piece]] = {}
    for piece in step.pieces:
        groups.setdefault((piece.columns, piece.below), []).append(piece)
    return groups


def united(parts: Sequence[str]) -> str:
    return " UNION ALL ".join(parts)


def through_window(
    use: Use,
    rows: str,
    now: int | None,
    words: Words,
    since: int | None = None,
    upto: int | None = None,
    below: int | None = None,
) -> str:
    """SQL for the rows of `rows` (a SELECT with `_seq`) that the use's window holds at `now`, with their previous rows.

    Rows from before `since` are left out: a result's files go as a whole, when the last of their rows is too old. So are
    rows after `upto`: the query is asked as of that time; and rows numbered `below` and more, which came later.
    """
    if below is not None:
        rows = f"SELECT * FROM ({rows}) AS b WHERE {words.quote(SEQ)} < {below}"
    for limit, operator in ((since, ">="), (upto, "<=")):
        if limit is not None:
            assert isinstance(use.table, StreamingTable)
            time, bound = words.quote(use.table.time_column), time_literal(use.table, limit, words)
            rows = f"SELECT * FROM ({rows}) AS s WHERE {time} {operator} {bound}"
    return with_previous(use, _windowed(use, rows, now, words), words)


def with_previous(use: Use, content: str, words: Words) -> str:
    """SQL for a window's content with the columns that PREV asks for."""
    if not use.previous:
        return content
    table, window = use.table, use.window
    assert isinstance(table, StreamingTable)
    assert window is not None
    keys = words.names(table.columns.find(c, table.name).name for c in window.columns)
    order = f"ORDER BY {words.quote(table.time_column)}, {words.quote(SEQ)}"
    before = ", ".join(
        f"lag({words.quote(p.column)}, {p.back}) OVER (PARTITION BY {keys} {order}) AS {words.quote(p.name)}"
        for p in use.previous
    )
    return f"SELECT *, {before} FROM ({content}) AS p"


def _windowed(use: Use, rows: str, now: int | None, words: Words) -> str:
    window = use.window
    if window is None:
        return rows
    table = use.table
    assert isinstance(table, StreamingTable)
    time, seq = words.quote(table.time_column), words.quote(SEQ)
    source = f"({rows}) AS w"
    if now is None and window.needs_now:
        return f"SELECT * FROM {source} WHERE FALSE"  # nothing arrived and no heartbeat: there is no now yet
    start = window.start(table, now)
    bound = time_literal(table, start, words) if start is not None else None
    if window.now:
        return f"SELECT * FROM {source} WHERE {time} = {bound}"
    end, (first, last) = window.end(table, now), window.numbers
    limits = [f"{time} >= {bound}"] if bound is not None else []
    limits += [f"{time} <= {time_literal(table, end, words)}"] if end is not None else []
    limits += [f"{seq} >= {first}"] if first is not None else []
    limits += [f"{seq} <= {last}"] if last is not None else []
    where = f" WHERE {' AND '.join(limits)}" if limits else ""
    if window.rows is None and not window.skip:
        return f"SELECT * FROM {source}{where}"
    order = f"ORDER BY {time} DESC, {seq} DESC"
    if not window.columns:
        most = f" LIMIT {window.rows - window.skip}" if window.rows is not None else ""
        return f"SELECT * FROM {source}{where} {order}{most}" + (f" OFFSET {window.skip}" if window.skip else "")
    keys = words.names(table.columns.find(c, table.name).name for c in window.columns)
    rank = words.quote("_rank")
    ranked = f"SELECT *, row_number() OVER (PARTITION BY {keys} {order}) AS {rank} FROM {source}{where}"
    return f"SELECT * FROM ({ranked}) AS k WHERE {rank} <= {window.rows}"


def time_literal(table: StreamingTable, time: int, words: Words) -> str:
    if table.columns.find(table.time_column, table.name).type.is_integer:
        return str(time)
    return f"CAST('{written_moment(time)}+00:00' AS {words.timestamp})"
