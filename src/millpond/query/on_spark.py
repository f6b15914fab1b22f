"""Queries on Spark: the user's own text over temporary views, once over selections of tables, or over given contents of windows
as continuous queries have them.

Files are read by Spark itself; the tail, and the contents of windows, are handed over as Arrow. View names are unique to the
query, so queries can run side by side, and are dropped afterwards.

A thread of its own collects the answer. Cancelling a query's jobs ends what Spark computes, but not the handing over of a large
result; so whoever waits for it gives up a moment after the deadline, and at once after Ctrl-C. What is left of the result is
read to its end and thrown away: it is no larger than half of `spark_memory`.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.errors import EngineError, LimitExceeded, MillpondError, UnsupportedSql
from millpond.query.binding.functions import ORDERED
from millpond.query.binding.uses import Bound, Use
from millpond.query.deadline import Deadline
from millpond.query.instant import put_instant, written_instant
from millpond.query.plan import Fetched, Plan, Tiers, in_time_order, ordered
from millpond.query.relation import FILE, SPARK, as_now, piece_groups, through_window, united, with_previous
from millpond.schema import SEQ, Schema, with_seq
from millpond.spark.session import is_live, lost, spark_message, took_too_much
from millpond.sql.literals import unfold_rows
from millpond.sql.query_text import View
from millpond.sql.spark_text import check_quotes, check_spark_text
from millpond.table.store import tail_table
from millpond.table.thinning import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()
_LAST_MOMENT = 1.0
"""Seconds that a query has to end after its jobs were cancelled; some work of Spark's driver cannot be."""
_NOW_AND_THEN = 0.2  # seconds


def run_on_spark(plan: Plan, session: SparkSession, deadline: Deadline | None = None) -> pa.Table:
    """The answer as Arrow. `deadline` can end it."""
    return _answered(plan.bound, plan.instant, session, partial(_relation, plan), deadline, around=plan.around)


def ask_spark(
    bound: Bound,
    contents: Mapping[str, pa.Table],
    instant: int,
    session: SparkSession,
    deadline: Deadline | None = None,
    *,
    most: int | None = None,
) -> pa.Table:
    """The answer over given contents of the relations, by name, at an instant; at most `most` rows of it.

    Rows come to Spark as one partition, in their order. In a session with one partition for everything (`narrow_session`) the
    answer is then the same each time, also of functions that depend on the order, such as `first`.
    """
    return _answered(bound, instant, session, partial(_content, bound, contents), deadline, most)


Views = list[str]
Relation = Callable[[Use, "SparkSession", str, Views], str]
"""Makes the views behind a use, with names that begin as given, and notes them. The name of the one that the query reads."""


def _answered(
    bound: Bound,
    instant: int | None,
    session: SparkSession,
    relation: Relation,
    deadline: Deadline | None,
    most: int | None = None,
    around: Callable[[str], str] = lambda text: text,
) -> pa.Table:
    prefix = f"_q{next(_numbers)}"
    views: Views = []
    try:
        names = {name: relation(use, session, f"{prefix}{name}", views) for name, use in bound.uses.items()}
        return _collected(session, around(spark_text(bound, names, instant)), prefix, deadline, most)
    except Exception as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from None
        if isinstance(error, MillpondError):
            raise
        if (death := lost(session, error)) is not None:
            raise death from error  # not tried again: it may be this query that took all the memory
        if took_too_much(error):
            raise LimitExceeded(
                "the query takes more memory than Spark has",
                setting="spark_memory",
                detail="A result may take half of it.",
                hint="Ask for fewer rows or columns, or raise setting spark_memory before Spark starts.",
            ) from error
        unsure = bound.unsure
        if unsure is not None and not isinstance(unsure, UnsupportedSql) and _is_refusal(error):
            raise unsure from error
        if type(error).__module__.startswith(("pyspark", "py4j")):
            raise EngineError("the query failed", detail=f"Spark says: {spark_message(error)}") from error
        if isinstance(error, ValueError | pa.ArrowException):
            raise EngineError(
                "the query has a result that Arrow cannot hold",
                detail=f"Arrow says: {error}",
                hint="ARRAY() is a list of values without a type: cast what it holds.",
            ) from error
        raise
    finally:
        if is_live(session):
            for view in views:
                session.catalog.dropTempView(view)


def _collected(session: SparkSession, text: str, tag: str, deadline: Deadline | None, most: int | None) -> pa.Table:
    """Run a query and collect its rows in another thread; `tag` is the name of its jobs."""
    answer: Future[pa.Table] = Future()

    def collect() -> None:
        try:
            with _tagged(session, tag) if deadline is not None else nullcontext():
                rows = session.sql(text)
                answer.set_result((rows if most is None else rows.limit(most)).toArrow())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=collect, name=f"millpond-collect{tag}", daemon=True).start()
    if deadline is None:
        _wait(answer, math.inf)
        return answer.result()
    # A tag of the session would be known only to the thread that made it.
    with deadline.stopping(lambda: session.sparkContext.cancelJobsWithTag(tag)):
        _wait(answer, deadline.remaining)
        if not wait([answer], _LAST_MOMENT).done:
            raise deadline.error()
        return answer.result()


def _wait(answer: Future[pa.Table], seconds: float) -> None:
    """Wait for an answer, and wake up now and then: libraries install handlers of signals after which a thread that waits is not
    woken by Ctrl-C."""
    end = time.monotonic() + seconds
    while not wait([answer], max(0.0, min(_NOW_AND_THEN, end - time.monotonic()))).done and time.monotonic() < end:
        pass


@contextmanager
def _tagged(session: SparkSession, tag: str) -> Iterator[None]:
    """Let the jobs that this thread starts in the block be known by a tag."""
    context = session.sparkContext
    context.addJobTag(tag)
    try:
        yield
    finally:
        context.removeJobTag(tag)


def _was_interrupted(error: BaseException) -> bool:
    """Whether PySpark met `error` (a cancelled job, say) while it was tidying up after Ctrl-C."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause is not None


def _is_refusal(error: Exception) -> bool:
    """Whether Spark did not understand the query either."""
    from pyspark.errors import AnalysisException, ParseException

    return isinstance(error, AnalysisException | ParseException)


def spark_text(bound: Bound, names: dict[str, str], instant: int | None) -> str:
    """The query for Spark, with each relation under its view's name, at an instant."""
    if bound.text is None:
        return _printed(ordered(bound), names, instant)

    def view(found: View) -> str:
        alias = f" AS {SPARK.quote(found.alias)}" if found.alias is not None else ""
        name = SPARK.quote(names.get(found.use, found.use))
        return (f"(SELECT {SPARK.names(found.columns)} FROM {name})" if found.columns else name) + alias

    check_quotes(bound.text.sql, bound.text.tokens)
    text = bound.text.written(view, lambda found: written_instant(found.type, instant))
    check_spark_text(text, Counter(bound.text.column_lists))
    return text


def _printed(bound: Bound, names: dict[str, str], instant: int | None) -> str:
    """A query without a text of its own, from its tree."""
    tree = bound.tree.copy()
    put_instant(tree, instant)
    for table in tree.find_all(exp.Table):
        if table.name in names:
            table.set("this", exp.to_identifier(names[table.name], quoted=True))
    for select in tree.find_all(exp.Select):
        _unqualify_grouped(select)
    if isinstance(tree, exp.Select):
        _tell_apart(tree)
    unfold_rows(tree)
    text = tree.sql(dialect="spark", comments=False)
    check_spark_text(text, _named_columns(tree))
    return text


def _named_columns(tree: exp.Expr) -> Counter[str]:
    """How often an alias with a list of columns is in a query: in Spark's text it looks like a call."""
    aliases = (a for a in tree.find_all(exp.TableAlias) if a.args.get("columns"))
    return Counter(a.name.lower() for a in aliases)


def _unqualify_grouped(select: exp.Select) -> None:
    """Behind ROLLUP, CUBE and GROUPING SETS, Spark finds the keys only by their bare names, and not under an alias."""
    group = select.args.get("group")
    if group is None or group.find(exp.Rollup, exp.Cube, exp.GroupingSets) is None:
        return
    for item in list(select.expressions):
        if (
            isinstance(item, exp.Alias)
            and isinstance(item.this, exp.Column)
            and item.alias.lower() == item.this.name.lower()
        ):
            item.replace(item.this)
    for clause in (select.args.get("having"), select.args.get("order")):
        for column in clause.find_all(exp.Column) if clause is not None else ():
            if column.parent_select is select:
                column.set("table", None)


def _tell_apart(select: exp.Select) -> None:
    """Outputs of one name get different ones; the answer is renamed anyway. Spark's optimizer breaks its own plan over
    `SELECT a AS a, a AS a` from a union (RemoveRedundantAliases)."""
    seen: set[str] = set()
    for number, item in enumerate(select.expressions):
        name = item.alias_or_name.lower()
        if name in seen and isinstance(item, exp.Alias):
            item.set("alias", exp.to_identifier(f"{name}__{number}", quoted=True))
        seen.add(name)


def _view(frame: Any, name: str, views: Views) -> str:
    frame.createOrReplaceTempView(name)
    views.append(name)
    return name


def _relation(plan: Plan, use: Use, session: SparkSession, prefix: str, views: Views) -> str:
    given = plan.inputs[use.name]
    if isinstance(given, Fetched):
        return _view(session.createDataFrame(given.rows), prefix, views)
    columns = with_seq(use.columns)
    parts = []
    if given.step is not None:
        return _thinned(plan, given, given.step, use, session, prefix, views)
    for number, have in enumerate(dict.fromkeys(f.columns for f in given.selection.files)):
        paths = [str(given.snapshot.folder / f.path) for f in given.selection.files if f.columns == have]
        frame = session.read.schema(_spark_schema(columns, have)).parquet(*paths)
        view = _view(frame, f"{prefix}_files{number}", views)
        parts.append(f"SELECT {as_now(columns, have, SPARK, str)} FROM {view}")
    if given.selection.blocks or not parts:
        tail = tail_table(given.selection.blocks, arrow_schema(columns))
        view = _view(_frame(session, tail, columns), f"{prefix}_tail", views)
        parts.append(f"SELECT {SPARK.names(columns.names)} FROM {view}")
    rows = through_window(use, united(parts), given.now, SPARK, given.snapshot.since, given.upto, given.below)
    if use.time_column is not None and not use.rejected and plan.bound.tree.find(*ORDERED) is not None:
        # As continuous queries and DuckDB see them. A hint and a sort within the one partition, so that nothing is shuffled.
        order = f"{SPARK.quote(use.time_column)}, {SPARK.quote(SEQ)}"
        rows = f"SELECT /*+ COALESCE(1) */ * FROM ({rows}) AS o SORT BY {order}"
    return _view(session.sql(_shown(plan.bound, use, rows)), prefix, views)


def _thinned(plan: Plan, given: Tiers, step: Step, use: Use, session: SparkSession, prefix: str, views: Views) -> str:
    """The rows of a step of a reduced reading, with the paths of their files in a column `FILE`."""
    columns = with_seq(use.columns)
    parts = []
    for number, ((have, below), pieces) in enumerate(piece_groups(step).items()):
        paths = [str(given.snapshot.folder / p.path) for p in pieces]
        frame = session.read.schema(_spark_schema(columns, have)).parquet(*paths)
        view = _view(frame.selectExpr("*", f"_metadata.file_path AS {FILE}"), f"{prefix}_files{number}", views)
        where = f" WHERE {step.draws.sql(SPARK.quote(SEQ))} < {below}" if below is not None else ""
        parts.append(f"SELECT {as_now(columns, have, SPARK, str)}, {FILE} FROM {view}{where}")
    if step.blocks or not parts:
        view = _view(_frame(session, tail_table(step.blocks, arrow_schema(columns)), columns), f"{prefix}_tail", views)
        parts.append(f"SELECT {SPARK.names(columns.names)}, '' AS {FILE} FROM {view}")
    rows = through_window(use, united(parts), given.now, SPARK, given.snapshot.since, given.upto, given.below)
    return _view(session.sql(_shown(plan.bound, use, rows)), prefix, views)


def _content(
    bound: Bound, contents: Mapping[str, pa.Table], use: Use, session: SparkSession, prefix: str, views: Views
) -> str:
    given = contents[use.name]
    columns = Schema(tuple(c for c in with_seq(use.columns) if c.name in given.column_names))
    frame = _frame(session, given, columns).coalesce(1)
    if SEQ not in columns:
        return _view(frame, prefix, views)
    rows = with_previous(use, f"SELECT * FROM {_view(frame, f'{prefix}_rows', views)}", SPARK)
    return _view(session.sql(_shown(bound, use, rows)), prefix, views)


def _frame(session: SparkSession, rows: pa.Table, columns: Schema) -> Any:
    return session.createDataFrame(rows, schema=_spark_schema(columns, tuple(columns.names)))


def _shown(bound: Bound, use: Use, rows: str) -> str:
    """SQL for what a query sees of a window's rows: no hidden column that it does not name."""
    if bound.text is None:
        return rows
    columns = use.shown if use.bare else use.columns
    shown = [*columns.names, *(p.name for p in use.previous), *([SEQ] if bound.hidden else [])]
    order = f" ORDER BY {_in_time_order(use)}" if in_time_order(bound) is use else ""
    return f"SELECT {SPARK.names(shown)} FROM ({rows}) AS v{order}"


def _in_time_order(use: Use) -> str:
    assert use.time_column is not None
    return f"{SPARK.quote(use.time_column)} DESC, {SPARK.quote(SEQ)} DESC"


def _spark_schema(columns: Schema, have: tuple[str, ...]) -> str:
    return ", ".join(f"{SPARK.quote(c.name)} {c.type}" for c in columns if c.name in have)
