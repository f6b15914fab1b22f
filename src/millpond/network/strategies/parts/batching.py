"""Batches queries that differ only in the constants of their WHERE.

    SELECT seg, AVG(spd) AS speed FROM p [INTERVAL '1' MINUTE] WHERE xway = 3 GROUP BY seg SAMPLE INTERVAL '1' MINUTE

and two hundred more with other constants. That WHERE is a test of single rows, made before the engine is asked (`predicates`);
what is left is the same text for all of them. To ask the engine costs milliseconds whatever the rows are, so the rows of all
queries are put one after the other, each with its query's number, and the number is one more column to group by.

Invariant. A group has rows of one query only, in the order they have when it is asked alone, so the answer is the same. When the
engine refuses the batch (one query divides by zero, say), each is asked alone, and only those that are wrong fail.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import integers
from millpond.errors import MillpondError
from millpond.network.engine.engine import Engine
from millpond.network.plan.prepared import Prepared
from millpond.query.clauses import Refusal, group_keys, only
from millpond.query.instant import at_instant
from millpond.query.plan import used_columns
from millpond.sql.translate import NotOnDuckDB, to_duckdb

ASKED = "__asked"
NUMBER = "__query"
_MOST = 1 << 21  # rows put one after the other


@dataclass(frozen=True)
class Question:
    """What is asked of the rows of a window: `text` over the relation ASKED, with the NUMBER as last column. Equal for all that
    can be asked together."""

    text: str
    columns: tuple[str, ...]
    slide: int
    offset: int


def question_of(prepared: Prepared) -> Question | None:
    """A query of one window by time with nothing but GROUP BY columns and aggregates; its WHERE must be tested before."""
    tree = prepared.bound.tree
    if len(prepared.streams) != 1 or prepared.standards or prepared.slide is None or prepared.bound.functions:
        return None
    use = prepared.streams[0]
    if use.window is None or use.window.rows is not None or use.previous:
        return None
    if only(tree, "where", "group", "having") is not None or tree.find(exp.Window, exp.Explode):
        return None
    assert isinstance(tree, exp.Select)
    keys = group_keys(tree)
    if isinstance(keys, Refusal) or not keys or not all(isinstance(k, exp.Column) for k in keys):
        return None
    if tree.args.get("where") and simple_where(prepared) is None:
        return None
    copy = tree.copy()
    copy.set("where", None)
    copy.args["from_"].set("this", exp.Table(this=_quoted(ASKED), alias=exp.TableAlias(this=_quoted(ASKED))))
    for column in copy.find_all(exp.Column):
        column.set("table", _quoted(ASKED))
    number = exp.Column(this=_quoted(NUMBER), table=_quoted(ASKED))
    number.type = exp.DataType.build("INT", dialect="spark")
    copy.append("expressions", exp.alias_(number, NUMBER, quoted=True))
    copy.args["group"].append("expressions", number.copy())
    try:
        text = to_duckdb(copy, prepared.bound.functions)
    except NotOnDuckDB:
        return None
    return Question(text, tuple(used_columns(prepared.bound, use)), prepared.slide, prepared.offset)


def simple_where(prepared: Prepared) -> exp.Expr | None:
    """The WHERE of a query over one window, if rows that do not fulfil it can be left out before anything else is done."""
    tree = prepared.bound.tree
    if len(prepared.streams) != 1 or prepared.standards or prepared.streams[0].previous:
        return None
    if only(tree, "where", "group", "having", "windows", "qualify", "distinct", "order", "limit", "offset") is not None:
        return None
    where = tree.args.get("where")
    return where.this if where is not None else None


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


class Member(Protocol):
    """A query that can be batched."""

    def is_due(self, instant: int) -> bool:
        """Whether the query is to be evaluated at an instant, in this step."""

    def rows_at(self, instant: int, question: Question) -> pa.Table:
        """The rows of its window that fulfil its WHERE, with the columns of the question."""


class Batches:
    """The queries of an evaluator by what they ask. Those of one step and instant are asked when the first of them is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._members: dict[Question, dict[str, Member]] = {}
        self._asked: set[tuple[Question, int]] = set()  # in this step
        self._answers: dict[tuple[str, int], pa.Table] = {}  # found in this step and not fetched yet

    def join(self, question: Question, name: str, member: Member) -> None:
        self._members.setdefault(question, {})[name] = member

    def leave(self, question: Question, name: str) -> None:
        members = self._members[question]
        del members[name]
        if not members:
            del self._members[question]

    def answer(self, question: Question, name: str, instant: int) -> pa.Table | None:
        """The result of a query at an instant; None if it is to be asked alone."""
        if (question, instant) not in self._asked:
            self._asked.add((question, instant))
            due = [(n, m) for n, m in self._members[question].items() if m.is_due(instant)]
            if len(due) > 1:
                rows = ((n, m.rows_at(instant, question)) for n, m in due)
                with contextlib.suppress(MillpondError):  # each is asked alone
                    found = ask_together(self._engine, question, rows, instant)
                    self._answers.update({(n, instant): answer for n, answer in found})
        return self._answers.pop((name, instant), None)

    def end_step(self) -> None:
        self._asked.clear()
        self._answers.clear()


def ask_together(
    engine: Engine, question: Question, rows: Iterable[tuple[str, pa.Table]], instant: int
) -> Iterator[tuple[str, pa.Table]]:
    """The answer for each name, from its rows."""
    names: list[str] = []
    tables: list[pa.Table] = []
    size = 0
    for name, table in rows:
        if tables and size + table.num_rows > _MOST:
            yield from _asked(engine, question, names, tables, instant)
            names, tables, size = [], [], 0
        names.append(name)
        tables.append(table)
        size += table.num_rows
    yield from _asked(engine, question, names, tables, instant)


def _asked(
    engine: Engine, question: Question, names: list[str], tables: list[pa.Table], instant: int
) -> Iterator[tuple[str, pa.Table]]:
    sizes = [t.num_rows for t in tables]
    numbers = pa.array(np.repeat(np.arange(len(tables), dtype=np.int32), sizes))
    whole = pa.concat_tables(tables).append_column(NUMBER, numbers)
    found = engine.run(at_instant(question.text, instant), {ASKED: whole})
    owner = integers(found.column(NUMBER))
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(len(tables) + 1))
    found = found.drop_columns([NUMBER]).take(pa.array(order))
    for number, name in enumerate(names):
        yield name, found.slice(ends[number], ends[number + 1] - ends[number])
