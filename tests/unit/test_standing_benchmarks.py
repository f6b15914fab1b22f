"""What the benchmarks of standing queries stand on: the paper's workload, its sentences, and a rival that may be absent."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from benchmarks.psoup import paper, workload
from benchmarks.rivals import lucene


def test_the_naive_judge_finds_what_duckdb_finds() -> None:
    random = np.random.default_rng(1)
    queries = workload.intervals(random, 20) + workload.equalities(random, 20, 1)
    rows = workload.rows(random, 500)
    with duckdb.connect() as engine:
        engine.register("given", workload.table(rows))
        counts = [
            engine.execute(f"SELECT count(*) FROM given WHERE {workload.where(q)}").fetchall()[0][0] for q in queries
        ]
    assert counts == [int(workload.mask(q, rows).sum()) for q in queries]
    assert workload.judged(queries, rows)[0] == sum(counts)


def test_one_constant_in_five_is_drawn_from_the_multiples_of_32() -> None:
    drawn = workload.constants(np.random.default_rng(2), 100_000)
    assert drawn.min() == 0
    assert drawn.max() == 255
    assert np.mean(drawn % 32 == 0) == pytest.approx(0.2 + 0.8 * 8 / 256, abs=0.01)


def test_each_of_some_keys_is_named_by_equally_many_queries() -> None:
    queries = workload.selective(np.random.default_rng(3), 300, 100)
    assert np.bincount([q[0].low for q in queries]).tolist() == [3] * 100
    assert workload.where(queries[0]).startswith(f"k = 'S{queries[0][0].low}' AND a ")


def test_the_papers_own_table_fulfils_what_the_paper_says_of_it() -> None:
    names = ("nothing, ms", "partial, ms", "complete, ms")
    table = [dict(zip(names, times, strict=True)) for times in paper.TABLE_2.values()]
    told = paper.judged({"table2": table})
    assert [row["here"] for row in told] == ["holds"] * 5


def test_a_rival_that_cannot_be_built_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(lucene.Absent, match=r"Maven is not installed \(mvn is not on the path\)"):
        lucene.build(tmp_path)
