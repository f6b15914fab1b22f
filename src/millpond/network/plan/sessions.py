"""Continuous queries over sessions: the instants are the ends of sessions, which the rows themselves decide.

Such a query is kept as it was written. Its result over the rows of open sessions has one more column, the end of the session
(`END`): a row is sent at that instant. Of which sessions are open, and since when, a second question tells (`open_sessions`).
"""

from __future__ import annotations

from sqlglot import exp

from millpond.catalog import Catalog
from millpond.errors import Span, UnsupportedSql
from millpond.query.binding.uses import Bound
from millpond.query.clauses import clauses
from millpond.query.instant import placeholder
from millpond.sql.group_windows import GROUP_TABLE, Grouped, grouped_by, sources_of
from millpond.sql.translate import to_duckdb

END = "__end"
_ENDS = {"window_end": "window_start", "__window_end": "__window_start"}


def check_sessions(select: exp.Expr, query: exp.Expr, sql: str, place: Span | None) -> None:
    """Refuse what cannot be said session by session."""
    if select is not query or not isinstance(select, exp.Select):
        raise UnsupportedSql(
            "sessions of a continuous query are in its own FROM or GROUP BY, not in a subquery",
            hint="Make the subquery a streaming view, and read that.",
            sql=sql,
            span=place,
        )
    for clause in clauses(select):
        if clause not in ("WHERE", "GROUP BY", "HAVING", "a join"):
            raise UnsupportedSql(
                f"{clause} does not go with sessions in a continuous query",
                detail="Each session is sent when it is closed.",
                sql=sql,
                span=place,
            )
    if select.find(exp.Window) is not None:
        raise UnsupportedSql("window functions do not go with sessions in a continuous query", sql=sql, span=place)
    group = select.args.get("group")
    tables = [s for s in sources_of(select) if s.meta.get(GROUP_TABLE) is not None]
    if tables and (group is not None or select.find(exp.AggFunc) is not None):
        keys = [] if group is None else group.expressions
        if not any(isinstance(k, exp.Column) and k.name.lower() == "window_end" for k in keys):
            raise UnsupportedSql(
                "sessions of a continuous query are grouped by window_start and window_end", sql=sql, span=place
            )


def with_ends(query: exp.Expr, catalog: Catalog, sql: str) -> exp.Expr:
    """The query with the end of its session as a last column."""
    tree = query.copy()
    assert isinstance(tree, exp.Select)
    grouped: Grouped | None = grouped_by(tree, sql, catalog.functions)
    end: exp.Expr
    if grouped is not None:
        call = grouped.call.copy()
        name = {"session_start": "session", "session_end": "session", "session_rowtime": "session"}
        call.set("this", name.get(call.name.lower(), call.name))
        end = exp.Dot(this=call, expression=exp.to_identifier("end"))
    else:
        table = next(s for s in sources_of(tree) if s.meta.get(GROUP_TABLE) is not None)
        end = exp.column("window_end", table=table.alias_or_name)
    tree.append("expressions", exp.alias_(end, END, quoted=True))
    return tree


def open_sessions(bound: Bound) -> str:
    """DuckDB's SQL for the earliest start and the earliest end of the sessions that are not closed at the instant."""
    assert isinstance(bound.tree, exp.Select)
    for source in sources_of(bound.tree):
        outputs = source.this.named_selects if isinstance(source, exp.Subquery) else []
        end = next((name for name in _ENDS if name in outputs), None)
        if end is None:
            continue
        alias = source.alias_or_name
        last = exp.column(end, table=alias, quoted=True)
        first = exp.column(_ENDS[end], table=alias, quoted=True)
        whole = bound_is_whole(bound)
        asked = exp.Select(
            expressions=[
                exp.alias_(exp.Min(this=first), "first", quoted=True),
                exp.alias_(exp.Min(this=last.copy()), "last", quoted=True),
            ],
            from_=exp.From(this=source.copy()),
            where=exp.Where(this=exp.GTE(this=last, expression=placeholder(whole))),
        )
        return to_duckdb(asked, bound.functions)
    raise UnsupportedSql("sessions of a continuous query are over one streaming table", hint=JOINED)


JOINED = (
    "Join it as a table function: FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(t), INTERVAL '5' MINUTE) w JOIN ..."
)


def bound_is_whole(bound: Bound) -> bool:
    """Whether the time of the stream is a whole number."""
    for use in bound.uses.values():
        if use.time_column is not None:
            return use.columns.find(use.time_column, use.alias).type.is_integer
    raise AssertionError("it reads a stream")
