"""Predicates are true, false and unknown for the rows for which Spark says so, in the user's own words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millpond.predicate.vector import Columns
from tests.unit.sql.conditions import ADDED, CONDITIONS, LITERALS, Rows, sample, truths

pytestmark = pytest.mark.spark
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
NUMBERS = ["x", "f", "d", "e", "share", "flag"]
COMPARED = [f"{column} {sign} {value}" for column in NUMBERS for value in LITERALS[column] for sign in OPERATORS]
LISTED = [f"{column} {word} ({', '.join(LITERALS[column])})" for column in NUMBERS for word in ("IN", "NOT IN")]
PAIRS = [("x", "y"), ("f", "x"), ("k", "x"), ("f", "small"), ("f", "f"), ("d", "e"), ("flag", "up")]
TOGETHER = [f"{left} {sign} {right}" for left, right in PAIRS for sign in OPERATORS]
SUMS = [f"x {sign} y + {added}" for added in ADDED for sign in OPERATORS] + [
    f"{left} {sign} {right} {plus} {added}"
    for left, right in (("d", "e"), ("e", "d"))
    for plus in "+-"
    for added in ("0.01", "0.005", "10", "0.9999999999999999")
    for sign in OPERATORS
]
OTHERS = [
    "flag",
    "NOT flag",
    "flag IS TRUE",
    "flag IS NOT FALSE",
    "isnan(x)",
    "NOT isnan(f)",
    "x BETWEEN 0 AND double('NaN')",
]


@pytest.fixture(scope="module")
def spark(session: Any) -> Any:
    own = session.newSession()
    rule = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
    for name, value in {"spark.sql.shuffle.partitions": "1", "spark.sql.optimizer.excludedRules": rule}.items():
        own.conf.set(name, value)
    own.createDataFrame(sample()).coalesce(1).createOrReplaceTempView("s")
    return own


def assert_as_spark(spark: Any, texts: list[str]) -> None:
    tests = ", ".join(f"({text}) AS c{i}" for i, text in enumerate(texts))
    found = spark.sql(f"SELECT id, {tests} FROM s ORDER BY id").toArrow()
    columns = Columns(Rows(sample()))
    for i, text in enumerate(texts):
        assert truths(text, columns) == found.column(f"c{i}").to_pylist(), text


@pytest.mark.parametrize(
    "texts", [COMPARED, LISTED, TOGETHER, SUMS, OTHERS], ids=["constants", "lists", "columns", "sums", "others"]
)
def test_conditions(texts: list[str], spark: Any) -> None:
    for start in range(0, len(texts), 60):
        assert_as_spark(spark, texts[start : start + 60])


@given(texts=st.lists(CONDITIONS, min_size=20, max_size=20))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
def test_composed_conditions(texts: list[str], spark: Any) -> None:
    assert_as_spark(spark, texts)
