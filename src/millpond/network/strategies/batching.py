"""Queries that ask the same of different rows, asked as one.

    SELECT seg, AVG(spd) AS speed FROM p [INTERVAL '1' MINUTE] WHERE xway = 3 GROUP BY seg SAMPLE INTERVAL '1' MINUTE

and two hundred more with other constants in WHERE. That WHERE is a test of single rows, made before the engine is asked
(`filters`); what is left is the same text for all of them. To ask the engine costs milliseconds whatever the rows are, so the
rows of all queries are laid one after the other, each with its query's number, and the number is one more column to group by.

Invariant. A group has rows of one query only, in the order they have when it is asked alone; so the answer is the same. When the
engine refuses them together (one divides by zero, say), each is asked alone, and only those that are wrong fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import integers
from millpond.network.engine.engine import Engine
from millpond.network.plan.kinds import simple_where
from millpond.network.plan.prepared import Prepared
from millpond.query.instant import at_instant
from millpond.query.plan import used_columns
from millpond.sql.translate import NotOnDuckDB, to_duckdb

ASKED = "__asked"
NUMBER = "__query"
_MOST = 1 << 21  # rows laid one after the other
_REFUSED = ("order", "limit", "offset", "distinct", "with_", "laterals", "joins", "qualify", "windows")


@dataclass(frozen=True)
class Question:
    """What is asked of the rows of a window: `text` over the relation ASKED, with the NUMBER as last column. Equal for all that
    can be asked together."""

    text: str
    columns: tuple[str, ...]
    slide: int


def question_of(prepared: Prepared) -> Question | None:
    """A query of one window by time with nothing but GROUP BY columns and aggregates; its WHERE must be tested before."""
    tree = prepared.bound.tree
    if len(prepared.streams) != 1 or prepared.standards or prepared.slide is None or prepared.bound.functions:
        return None
    use = prepared.streams[0]
    if not isinstance(tree, exp.Select) or use.window is None or use.window.rows is not None or use.previous:
        return None
    group = tree.args.get("group")
    if group is None or not group.expressions or any(v for k, v in group.args.items() if k != "expressions"):
        return None
    if any(tree.args.get(c) for c in _REFUSED) or not all(isinstance(e, exp.Column) for e in group.expressions):
        return None
    if any(isinstance(n, exp.Select) and n is not tree for n in tree.walk()) or tree.find(exp.Window, exp.Explode):
        return None
    if not isinstance(tree.args["from_"].this, exp.Table) or (
        tree.args.get("where") and simple_where(prepared) is None
    ):
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
    return Question(text, tuple(used_columns(prepared.bound, use)), prepared.slide)


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


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
