"""Generated one-time queries: through millpond's front door with engine `auto`, and by plain PySpark over the same rows.

    python -m tests.spark.same_as_spark --count 20000 --seed 1

runs so many statements of `tests/generator` and tells each on which the two differ, by the kind of difference: other rows, names or
types, an answer from one where the other refuses, or an error that is not a `MillpondError`. What is not told apart is written in
`tests/corpus/compare.py`.

Whether an error in the data (an overflow, a division by zero) is met depends on what an optimizer evaluates: Spark computes constants
while it plans, also for rows that there are not, and it computes outputs before HAVING leaves groups out. Where one side meets such an
error and the other does not, Spark is asked again with most of its optimizer turned off, with constants computed first (as DuckDB does),
with what it can compute while it plans, and with NULL in the place of errors. What agrees with any of them is counted as an `error in the data`, not as a difference.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import millpond
from millpond.errors import MillpondError
from millpond.query import on_spark
from tests.corpus import Case
from tests.corpus.compare import assert_same
from tests.generator.queries import Statement, statement
from tests.generator.tables import SCHEMA, STREAMS, WINDOWS, rows
from tests.spark.minimise import minimised

# How a small statement is quick: no code is compiled for it, and a join is no job of its own. What it computes is the same.
_QUICK = {
    "spark.sql.ui.explainMode": "simple",  # it is written for every statement, and read by nobody
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.join.preferSortMergeJoin": "false",
}
_AT_ONCE = 2  # statements that plain Spark works on


# Rules that evaluate, or decide what is evaluated.
_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."
_EAGER = ("ConstantFolding", "ConvertToLocalRelation", "PropagateEmptyRelation", "PruneFilters", "NullPropagation",
    "BooleanSimplification", "SimplifyConditionals", "ConstantPropagation", "CollapseProject", "PushDownPredicates", "PushPredicateThroughJoin",
    "InferFiltersFromConstraints", "EliminateOuterJoin", "OptimizeIn", "ReplaceNullWithFalseInPredicate", "CombineFilters", "SimplifyBinaryComparison",
    "RemoveRedundantAggregates",
    "RemoveLiteralFromGroupExpressions",
    "ColumnPruning",
    "EliminateSorts",
    "RemoveNoopOperators",
    "ReorderJoin", "EliminateLimits", "LimitPushDown")  # fmt: skip
_DATA_ERRORS = (
    "ARITHMETIC_OVERFLOW", "CAST_OVERFLOW", "CAST_INVALID_INPUT", "DIVIDE_BY_ZERO", "REMAINDER_BY_ZERO", "NUMERIC_VALUE_OUT_OF_RANGE", "INVALID_ARRAY_INDEX",
    "CANNOT_PARSE", "DATETIME_OVERFLOW", "INVALID_FRACTION_OF_SECOND", "DATETIME_FIELD_OUT_OF_BOUNDS", "INTERVAL_ARITHMETIC_OVERFLOW", "CONVERSION_INVALID_INPUT",
    "Error", "failed: ",
)  # fmt: skip


class LeftToSpark(Exception):
    """A statement goes to Spark, and is not in the sample of those that are run there."""


@dataclass(frozen=True)
class Answer:
    """Rows, or why there are none."""

    rows: pa.Table | None = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Verdict:
    statement: Statement
    kind: str  # 'same', 'refused', 'left to Spark', or the kind of difference
    engine: str
    detail: str = ""

    @property
    def differs(self) -> bool:
        return self.kind not in ("same", "refused", "left to Spark", "error in the data", "Spark failed")


def plain_session(session: Any, *, quick: bool = True, without: Sequence[str] = (), known: bool = False) -> Any:
    """A session of its own, with millpond's settings, in which the tables are views; `without` some rules of the optimizer. Where
    rows are `known`, the optimizer computes with them, as it does with the rows of a tail."""
    own = session.newSession()
    rules = {"spark.sql.optimizer.excludedRules": ",".join(_OPTIMIZER + name for name in without)}
    _set(own, {"spark.sql.shuffle.partitions": "1", **(_QUICK if quick else {}), **rules})
    own.sparkContext.setLogLevel("OFF")

    def view(table: pa.Table, name: str) -> None:
        frame = _local(own, table)
        (frame if known else frame.coalesce(1)).createOrReplaceTempView(name)

    for name in SCHEMA:
        view(rows(name), name)
    for window, shown in WINDOWS.items():
        name = window.partition(" ")[0]
        view(rows(name).drop_columns(STREAMS[name]), shown.partition(" ")[0])
    return own


def _set(session: Any, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        session.conf.set(name, value)


def _local(session: Any, table: pa.Table) -> Any:
    """A frame whose rows are in its plan: there is nothing to read."""
    from pyspark.sql import DataFrame

    given = session.createDataFrame(table)._jdf
    return DataFrame(session._jsparkSession.createDataFrame(given.collectAsList(), given.schema()), session)


@contextlib.contextmanager
def filled_pond(folder: Path, master: str = "local[2]") -> Iterator[millpond.Pond]:
    with millpond.connect(folder, auto_archive=False, spark_master=master, query_time="1h") as db:
        for name, columns in SCHEMA.items():
            listed = ", ".join(f"{c} {kind}" for c, kind in columns.items())
            if name in STREAMS:
                db.sql(f"CREATE STREAMING TABLE {name} ({listed}) TIMESTAMP BY {STREAMS[name]} WITH (late = 'keep')")
            else:
                db.sql(f"CREATE STANDARD TABLE {name} ({listed})")
            if rows(name).num_rows:
                db.append(name, rows(name))
        yield db


class Comparison:
    """Both sides."""

    def __init__(self, pond: millpond.Pond, session: Any, *, quick: bool = True) -> None:
        self._pond = pond
        self._spark = plain_session(session, quick=quick)
        self._session = session
        self._ours = session
        if quick:
            self._ours = session.newSession()
            _set(self._ours, _QUICK)
        self.reasons: Counter[str] = Counter()
        """Why statements went to Spark; 'small enough' where DuckDB met a value that it left to Spark."""

    @functools.cached_property
    def _others(self) -> tuple[Any, ...]:
        """Sessions that meet other errors in the data: they evaluate only what they must, or constants first, or what they can while
        they plan, or forgive all."""
        lazy, folding = (plain_session(self._session, without=_EAGER[i:]) for i in (0, 1))
        eager = plain_session(self._session, known=True)
        forgiving = plain_session(self._session)
        forgiving.conf.set("spark.sql.ansi.enabled", "false")
        return lazy, folding, eager, forgiving

    def verdicts(self, statements: Iterable[Statement], sample: float = 1.0) -> Iterator[Verdict]:
        """Spark works on earlier statements while millpond answers later ones. `sample` is the share of the statements for Spark
        that are run there."""
        waiting: deque[tuple[Statement, Answer, str, Future[Answer] | None]] = deque()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for number, each in enumerate(statements):
                mine, engine = self.ours(each.sql, skip=number * sample % 1 >= sample)
                left = isinstance(mine.error, LeftToSpark)
                waiting.append((each, mine, engine, None if left else pool.submit(self.theirs, each.for_spark)))
                while len(waiting) > 20:
                    yield self._judged(*waiting.popleft())
            while waiting:
                yield self._judged(*waiting.popleft())

    def verdict(self, each: Statement) -> Verdict:
        mine, engine = self.ours(each.sql)
        return self._judge(each, mine, engine, self.theirs(each.for_spark))

    def ours(self, sql: str, *, skip: bool = False) -> tuple[Answer, str]:
        """millpond's answer, and the engine it comes from."""
        engine = "duckdb"
        run = on_spark.run_on_spark

        def noted(plan: Any, _: Any, *given: Any) -> pa.Table:
            nonlocal engine
            engine = "spark"
            self.reasons[plan.reason] += 1
            if skip:
                raise LeftToSpark
            return run(plan, self._ours, *given)

        with mock.patch.object(on_spark, "run_on_spark", noted):
            try:
                return Answer(self._pond.sql(sql).arrow()), engine
            except Exception as error:
                return Answer(error=error), engine

    def theirs(self, sql: str, session: Any = None) -> Answer:
        try:
            return Answer((session or self._spark).sql(sql).toArrow())
        except (
            PySparkException,
            Py4JError,
            pa.ArrowInvalid,
        ) as error:  # the last: a NULL that Spark's own schema excludes
            return Answer(error=error)

    def _judged(self, each: Statement, mine: Answer, engine: str, theirs: Future[Answer] | None) -> Verdict:
        if theirs is None:
            return Verdict(each, "left to Spark", engine)
        return self._judge(each, mine, engine, theirs.result())

    def _judge(self, each: Statement, mine: Answer, engine: str, theirs: Answer) -> Verdict:
        verdict = judge(each, mine, engine, theirs)
        if verdict.kind.startswith("only") and any(sign in verdict.detail for sign in _DATA_ERRORS):
            for other in self._others:
                if not judge(each, mine, engine, self.theirs(each.for_spark, other)).differs:
                    return Verdict(each, "error in the data", engine, verdict.detail)
        return verdict


_NOT_SUPPORTED = {"NATURAL JOIN is not supported beside a window in this query"}
"""What millpond refuses and Spark does not: docs/differences.md tells of it."""


def judge(each: Statement, mine: Answer, engine: str, theirs: Answer) -> Verdict:
    if mine.error is not None and not isinstance(mine.error, MillpondError):
        return Verdict(each, "bare exception", engine, f"{type(mine.error).__name__}: {mine.error}"[:300])
    if mine.error is not None and theirs.error is not None:
        return Verdict(each, "refused", engine)
    if mine.error is not None and mine.error.primary in _NOT_SUPPORTED:
        return Verdict(each, "refused", engine)
    if mine.error is not None:
        said = f"{mine.error.primary} / {mine.error.detail}"
        return Verdict(each, "only we refuse", engine, said[:300])
    if theirs.error is not None:
        said = str(theirs.error).splitlines()[0]
        # Another error is a bug of Spark's, and no answer; and so is a plan of which it finds itself that it is wrong.
        refused = isinstance(theirs.error, PySparkException) and "MISSING_ATTRIBUTES" not in said
        return Verdict(each, "only Spark refuses" if refused else "Spark failed", engine, said[:300])
    assert mine.rows is not None
    assert theirs.rows is not None
    if mine.rows.column_names != theirs.rows.column_names:
        return Verdict(each, "names", engine, f"{mine.rows.column_names} {theirs.rows.column_names}"[:300])
    try:
        assert_same(Case("", "", each.sql, engine, False, each.ordered, True), mine.rows, theirs.rows)
    except AssertionError as error:
        same_types = [f.type for f in mine.rows.schema] == [f.type for f in theirs.rows.schema]
        kind = "rows" if same_types or mine.rows.num_rows != theirs.rows.num_rows else "types or rows"
        return Verdict(each, kind, engine, " ".join(str(error).split())[:300])
    return Verdict(each, "same", engine)


def smallest(comparison: Comparison, found: Verdict) -> Statement:
    """A small statement with the same kind of difference."""

    def still(each: Statement) -> bool:
        verdict = comparison.verdict(each)
        return (
            (verdict.kind, verdict.detail[:25]) == (found.kind, found.detail[:25])
            if found.kind.startswith("only")
            else verdict.kind == found.kind
        )

    return minimised(found.statement, still)


def main() -> int:
    parser = argparse.ArgumentParser(description="compare generated one-time queries with plain PySpark")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first statement")
    parser.add_argument("--sample", type=float, default=1.0, help="the share of the statements for Spark that are run")
    parser.add_argument(
        "--compiled", action="store_true", help="let plain Spark compile each statement, as it does by default"
    )
    parser.add_argument("--reasons", action="store_true", help="tell why statements went to Spark")
    parser.add_argument(
        "--minimise", action="store_true", help="make each statement that differs as small as it can be"
    )
    given = parser.parse_args()
    from millpond.spark.session import get_session

    begin = time.monotonic()
    counts: Counter[tuple[str, str]] = Counter()
    session = get_session("local[2]", why="statements are compared with it")
    with tempfile.TemporaryDirectory() as folder, filled_pond(Path(folder) / "pond") as pond:
        comparison = Comparison(pond, session, quick=not given.compiled)
        statements = (statement(given.seed, given.first + i) for i in range(given.count))
        for verdict in comparison.verdicts(statements, given.sample):
            counts[verdict.kind, verdict.engine] += 1
            if sum(counts.values()) % 1000 == 0:
                print(f"{sum(counts.values())} statements after {time.monotonic() - begin:.0f} s", file=sys.stderr)
            if verdict.differs:
                print(f"{verdict.kind} | {verdict.engine} | {verdict.detail}\n    {verdict.statement.sql}", flush=True)
                if given.minimise:
                    print(f"    = {smallest(comparison, verdict).sql}", flush=True)
    took = time.monotonic() - begin
    total = sum(counts.values())
    print(f"{total} statements of seed {given.seed} in {took:.0f} s")
    for (kind, engine), count in sorted(counts.items()):
        print(f"{count:7d}  {100 * count / total:5.1f} %  {kind} ({engine})")
    if given.reasons:
        for reason, count in comparison.reasons.most_common(60):
            print(f"{count:7d}  {reason}")
    return 1 if any(Verdict(Statement("", False), kind, "").differs for kind, _ in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
