"""Law 2, attacked with generated queries: `auto` gives what plain PySpark gives. See `tests/spark/same_as_spark.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.generator.queries import statement
from tests.spark.same_as_spark import Comparison, filled_pond

pytestmark = pytest.mark.spark

_SHOWN = 10


@pytest.fixture(scope="module")
def pair(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    """Both sides, filled once: statements change nothing."""
    with filled_pond(tmp_path_factory.mktemp("generated") / "pond") as pond:
        yield Comparison(pond, session)


def _compare(pair: Comparison, seed: int, numbers: range, sample: float) -> Counter[str]:
    """How many statements ended how; fails if any differ."""
    counts: Counter[str] = Counter()
    differences = []
    for verdict in pair.verdicts((statement(seed, number) for number in numbers), sample):
        counts[verdict.kind] += 1
        counts[verdict.engine] += 1
        if verdict.differs:
            differences.append(f"{verdict.kind}: {verdict.detail}\n  {verdict.statement.sql}")
    assert not differences, f"{len(differences)} of {len(numbers)} differ\n" + "\n".join(differences[:_SHOWN])
    return counts


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_generated_queries_give_what_spark_gives(pair: Comparison, first: int) -> None:
    """Those for DuckDB are all compared; of those for Spark, which is given the same text, a sample. In parts, so that workers of
    pytest share them."""
    counts = _compare(pair, seed=1, numbers=range(first, first + 500), sample=0.05)
    assert counts["duckdb"] > 200
    assert counts["same"] > 4 * counts["refused"]


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_twenty_thousand_generated_queries_give_what_spark_gives(pair: Comparison) -> None:
    _compare(pair, seed=2, numbers=range(20_000), sample=1.0)
