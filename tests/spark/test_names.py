"""Names of unnamed outputs are Spark's: each expression of corpus/names.txt has the name that Spark gives it, or goes to Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.catalog import Catalog
from millpond.query.binding.bind import bind
from millpond.sql.dialect import read_tree, tokenize

pytestmark = pytest.mark.spark

EXPRESSIONS = (Path(__file__).parent.parent / "corpus" / "names.txt").read_text(encoding="utf-8").splitlines()
COLUMNS = "a INT, b INT, s STRING, x DOUBLE, d DATE, ts TIMESTAMP, fl BOOLEAN"


def _query(expression: str) -> str:
    window = " WINDOW w AS (PARTITION BY b ORDER BY a)" if "OVER w" in expression else ""
    group = " GROUP BY ROLLUP (a)" if expression.startswith("grouping") else ""
    return f"SELECT {expression} FROM t{group}{window}"


@pytest.fixture(scope="module")
def plain(session: Any) -> Any:
    own = session.newSession()
    own.createDataFrame([], COLUMNS).createOrReplaceTempView("t")
    return own


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    with millpond.connect(tmp_path_factory.mktemp("names") / "pond") as pond:
        pond.sql(f"CREATE STANDARD TABLE t ({COLUMNS})")
        return pond._workspace.catalog


def test_names_are_those_that_spark_gives(plain: Any, catalog: Catalog) -> None:
    different, left = {}, []
    for expression in EXPRESSIONS:
        sql = _query(expression)
        theirs = plain.sql(sql).columns
        bound = bind(read_tree(sql, tokenize(sql)), catalog, sql)
        if bound.unnamed is not None:
            left.append(expression)
        elif list(bound.names) != theirs:
            different[expression] = (bound.names, theirs)
    assert not different, f"{len(different)} of {len(EXPRESSIONS)}: {different}"
    assert len(left) < 0.1 * len(EXPRESSIONS), left
