"""Law 2, proved statement by statement: the corpus gives the same names, types and rows on DuckDB and on Spark.

Spark runs the text as the user wrote it; DuckDB the translation. Not told apart: Arrow's string and large_string, the
zone of a timestamp (both sessions are in UTC), `-0.0` and `0.0`, NaN and NaN. Doubles agree to 1e-12 of their size
where the statement adds doubles up, exactly elsewhere.

Spark takes most of the time. `make test` asks it every third statement that DuckDB is to answer, every sixth of the others, and
all that must fail; `make check` all. What generated statements say is in test_same_as_spark.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from millpond.catalog import Catalog, StandardTable
from millpond.errors import SqlError
from millpond.query.binding.bind import bind
from millpond.query.local import with_relations
from millpond.schema import Schema
from millpond.sql.dialect import read_tree, tokenize
from millpond.sql.naming import name_outputs, spell_outputs
from millpond.sql.translate import NotOnDuckDB, configure, needs_spark, to_duckdb
from tests.corpus import Case, load_corpus
from tests.corpus.compare import assert_same, normal_type
from tests.corpus.tables import SCHEMA, TABLES

CORPUS = load_corpus()
_ASKED = {"duckdb": 3, "spark": 6}  # of so many statements one is tried always
_FORMS = {case.sql for case in CORPUS if case.file == "forms"}
_SCHEMA = MappingSchema(SCHEMA, dialect="spark")


_CATALOG = Catalog(
    standard={name: StandardTable(name, Schema.of(columns.items()), name) for name, columns in SCHEMA.items()}
)


@pytest.fixture(scope="module")
def spark(session: Any) -> Any:
    own = session.newSession()  # with settings and views of its own
    # Otherwise the optimizer itself evaluates what it can, with other code than a job over files would use.
    rule = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    for name, value in {"spark.sql.shuffle.partitions": "1", "spark.sql.optimizer.excludedRules": rule}.items():
        own.conf.set(name, value)
    own.sparkContext.setLogLevel("OFF")
    for name, table in TABLES.items():
        own.createDataFrame(table()).coalesce(1).createOrReplaceTempView(name)
    return own


def _connect(*, zoned: bool) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    configure(connection)
    for name, make in TABLES.items():
        table = make()
        if not zoned:
            table = table.cast(pa.schema([pa.field(f.name, normal_type(f.type)) for f in table.schema]))
        connection.register(name, table)
    return connection


@pytest.fixture(scope="module")
def local() -> Iterator[duckdb.DuckDBPyConnection]:
    with _connect(zoned=False) as connection:
        yield connection


@pytest.fixture(scope="module")
def zoned() -> Iterator[duckdb.DuckDBPyConnection]:
    with _connect(zoned=True) as connection:
        yield connection


@cache
def analysed(sql: str) -> exp.Expression:
    tree = name_outputs(read_tree(sql, tokenize(sql)))
    tree = qualify(tree, schema=_SCHEMA, dialect="spark")
    tree = spell_outputs(tree, SCHEMA)
    return annotate_types(tree, schema=_SCHEMA, dialect="spark")


def translate(sql: str) -> str:
    """The DuckDB text; what cannot be resolved is for Spark to judge, like what is refused."""
    if sql in _FORMS:
        return _bound(sql)
    try:
        tree = analysed(sql)
    except Exception as error:
        raise NotOnDuckDB(f"sqlglot: {error}") from error
    return to_duckdb(tree)


def _bound(sql: str) -> str:
    """A form of a query is understood when names are resolved, and not by sqlglot alone."""
    try:
        bound = bind(read_tree(sql, tokenize(sql)), _CATALOG, sql)
    except SqlError as error:
        raise NotOnDuckDB(f"it cannot be bound: {error}") from error
    if bound.unnamed is not None:
        raise NotOnDuckDB(f"only Spark knows the name of column {bound.unnamed}")
    relations = [f'{use.name} AS (SELECT * FROM "{use.table.name}")' for use in bound.uses.values()]
    return with_relations(relations, to_duckdb(bound.tree))


def run_local(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return connection.sql(sql).to_arrow_table()


def _is_tried_always(number: int, case: Case) -> bool:
    return case.error or number % _ASKED[case.where] == 0


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.id, marks=[] if _is_tried_always(number, case) else pytest.mark.slow)
        for number, case in enumerate(CORPUS)
    ],
)
def test_same_on_both(case: Case, spark: Any, local: duckdb.DuckDBPyConnection) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    where, failure, mine, text = "duckdb", None, None, ""
    try:
        text = translate(case.sql)
        mine = run_local(local, text)
    except NotOnDuckDB as error:
        where, failure = "spark", error
    except duckdb.Error as error:
        where, failure = ("spark" if needs_spark(error) else "duckdb"), error
    theirs, raised = None, ""
    try:
        theirs = spark.sql(case.sql).toArrow()
    except (PySparkException, Py4JError) as error:
        raised = str(error)[:500]
    assert (theirs is None) == case.error, f"Spark raises: {raised}" if raised else "Spark gives rows"
    if theirs is None:
        assert failure is not None, f"only Spark raises: {raised}\n{text}"
    else:
        assert where == "spark" or mine is not None, f"only DuckDB raises: {failure}\n{text}"
        if mine is not None:
            print(text)
            assert_same(case, mine, theirs)
    if failure is not None and isinstance(failure.__cause__, SqlError) and case.error:
        return  # refused where names are bound: no engine is asked
    assert where == case.where, f"ran on {where}: {failure}"


@pytest.mark.parametrize("case", [c for c in CORPUS if c.where == "duckdb" and not c.error], ids=lambda case: case.id)
def test_zoned_timestamps_give_the_same(
    case: Case, local: duckdb.DuckDBPyConnection, zoned: duckdb.DuckDBPyConnection
) -> None:
    """An archive may hold timestamps with a zone (UTC); nothing may depend on it."""
    if "readings" not in case.sql:
        return
    text = translate(case.sql)
    assert_same(case, run_local(zoned, text), run_local(local, text))


def test_most_of_the_corpus_runs_on_duckdb() -> None:
    common = [case for case in CORPUS if case.file != "forms"]  # that file has what is rare
    assert len(common) >= 180
    assert sum(case.where == "duckdb" for case in common) >= 0.8 * len(common)
