"""Reductions: how much each portion of the archive is read, and what users are told when one cannot work."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.extending import Portion, ReductionKind
from millpond.reductions.by_age import ByAge
from millpond.reductions.by_error import ByError
from millpond.reductions.by_load import ByLoad
from millpond.reductions.uniform import Uniform
from millpond.testing import check_reduction
from millpond.workspace.load import load_of


def portion(**changes: Any) -> Portion:
    return Portion(**{"age": timedelta(0), "rows": 100, "bytes": 3_000, **changes})


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Uniform(), [10]),
        (Uniform(), [0.5]),
        (ByAge(), [timedelta(days=1), 10, timedelta(days=30), 1]),
        (ByLoad(), [5]),
        (ByError(), [2]),
        (ByError(), [2, 99.5]),
    ],
)
def test_what_is_shipped_keeps_the_promises(kind: ReductionKind, arguments: list[Any]) -> None:
    check_reduction(kind.open(arguments))


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Uniform(), []),
        (Uniform(), [0]),
        (Uniform(), [101]),
        (Uniform(), ["much"]),
        (ByAge(), []),
        (ByAge(), [10]),
        (ByAge(), [timedelta(days=3), 10, timedelta(days=1), 1]),
        (ByLoad(), [1, 2]),
        (ByError(), [2, 20]),
        (ByError(), []),
    ],
)
def test_wrong_arguments_are_told(kind: ReductionKind, arguments: list[Any]) -> None:
    with pytest.raises(millpond.SqlError) as error:
        kind.open(arguments)
    assert error.value.hint or error.value.detail


def test_what_is_old_is_read_less() -> None:
    fraction = ByAge().open([timedelta(days=1), 10, timedelta(days=30), 1])
    ages = [timedelta(0), timedelta(hours=23), timedelta(days=1), timedelta(days=29), timedelta(days=30)]
    assert [fraction(portion(age=age)) for age in ages] == [1.0, 1.0, 0.1, 0.1, 0.01]


def test_under_load_less_is_read() -> None:
    fraction = ByLoad().open([10])
    assert [round(fraction(portion(load=load)), 3) for load in (0, 0.5, 0.75, 1, 9)] == [1, 1, 0.316, 0.1, 0.1]


def test_load_rises_at_once_and_falls_slowly() -> None:
    busy = [2.0] * 5
    assert load_of(busy, 1.0) == 2.0
    after = [load_of([*busy, *([0.1] * ticks)], 1.0) for ticks in range(20)]
    assert after == sorted(after, reverse=True)
    assert after[2] > 1
    assert after[-1] < 0.2


@pytest.mark.parametrize(
    "fraction",
    [lambda _p: 0.0, lambda _p: 1.5, lambda _p: None, lambda _p: True, lambda p: 0.5 if p.age.days < 300 else -1],
)
def test_the_check_objects(fraction: Any) -> None:
    with pytest.raises(AssertionError, match="is no fraction"):
        check_reduction(fraction)


def test_the_check_objects_to_chance() -> None:
    answers = iter(range(1, 1_000))
    with pytest.raises(AssertionError, match="asked again"):
        check_reduction(lambda _p: 1 / next(answers))


MESSAGES = {
    "SELECT avg(k) FROM r REDUCE TO 0 PERCENT": "the part of the rows that is read is more than 0 and at most 100 percent",
    "SELECT avg(k) FROM r REDUCE TO 101 PERCENT": "the part of the rows that is read is more than 0 and at most 100 percent",
    "SELECT avg(k) FROM r REDUCE TO 10": "expected PERCENT after the number, but found the end of the statement",
    "SELECT avg(k) FROM r REDUCE USING thinly(3)": 'reduction "THINLY" does not exist',
    "SELECT avg(k) FROM r REDUCE USING by_age(3)": 'the arguments of reduction "by_age" are others',
    "SELECT avg(k) FROM r REDUCE TO 5 PERCENT REDUCE TO 6 PERCENT": "REDUCE is given twice",
    "SELECT avg(k) FROM r REDUCE TO 5 PERCENT WITHIN 5 PERCENT": "a query has REDUCE or WITHIN, not both",
    "SELECT avg(k) FROM r WITHIN 100 PERCENT": "the error of WITHIN is more than 0 and less than 100 percent",
    "SELECT avg(k) FROM r WITHIN 5 PERCENT CONFIDENCE 100": "CONFIDENCE is at least 50 and less than 100 percent",
    "SELECT k FROM r WITHIN 5 PERCENT": "WITHIN is for aggregates, and this query has none",
    "SELECT max(k) FROM r WITHIN 5 PERCENT": "MAX has no estimate from a part of the rows",
    "SELECT count(DISTINCT k) FROM r WITHIN 5 PERCENT": "COUNT DISTINCT has no estimate from a part of the rows",
    "SELECT DISTINCT k FROM r REDUCE TO 5 PERCENT": "this query cannot be answered from a part of the rows: it has DISTINCT",
    "SELECT count(*) FROM r REDUCE TO 5 PERCENT JOIN r AS s ON r.k = s.k": (
        "this query cannot be answered from a part of the rows: it has a join"
    ),
    "SELECT k, rank() OVER (ORDER BY k) FROM r REDUCE TO 5 PERCENT": (
        "this query cannot be answered from a part of the rows: it has functions OVER a window"
    ),
    "SELECT avg(k) FROM r [ROWS 5] REDUCE TO 5 PERCENT": "a window of the newest rows cannot be read reduced",
    "SELECT avg(k) FROM r_rejected REDUCE TO 5 PERCENT": '"r_rejected" cannot be read reduced',
    "SELECT avg(k) FROM s REDUCE TO 5 PERCENT": '"s" cannot be read reduced',
    "INSERT INTO s SELECT k FROM r REDUCE TO 5 PERCENT": "REDUCE is for a SELECT that is answered once",
    "CREATE CONTINUOUS QUERY q AS SELECT avg(k) FROM r [INTERVAL 1 MINUTE] REDUCE TO 5 PERCENT SAMPLE REALTIME": (
        "REDUCE is for a SELECT that is answered once"
    ),
    "CREATE STREAMING TABLE z (t BIGINT) TIMESTAMP BY t REDUCE BY REPLICATE (50, 20)": (
        "the levels of REPLICATE are percents from 1 to 99, in ascending order"
    ),
    "CREATE STREAMING TABLE z (t BIGINT) TIMESTAMP BY t REDUCE BY REPLICATE (0)": (
        "the levels of REPLICATE are percents from 1 to 99, in ascending order"
    ),
    "ALTER STREAMING TABLE r SET REDUCE BY THINNING": (
        'expected RANDOMIZE, REPLICATE, LAZY or NONE after REDUCE BY, but found "THINNING"'
    ),
    "CREATE STANDARD TABLE z (k INT) REDUCE BY LAZY": "clause REDUCE is not supported",
}


def test_bad_input_is_told(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t; CREATE TABLE s (k INT)")
        told = {}
        for statement in MESSAGES:
            with pytest.raises(millpond.MillpondError) as error:
                db.sql(statement)
            told[statement] = error.value.primary
        assert told == MESSAGES


def test_a_function_of_the_user(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t REDUCE BY RANDOMIZE")
        db.append("r", [(i, i) for i in range(20_000)])
        db.archive()
        db.append("r", [(i, i) for i in range(20_000, 40_000)])
        db.archive()
        seen: list[Portion] = []

        def old_less(portion: Portion, seconds: int) -> float:
            seen.append(portion)
            return 1.0 if portion.age < timedelta(seconds=seconds) else 0.25

        db.create_reduction("old_less", old_less)
        found = db.sql("SELECT count(*) AS n FROM r REDUCE USING old_less(100)")
        assert found.rows() == [(40_000, 40_000, 40_000)]
        assert found.reduction is not None
        assert 24_500 < found.reduction.rows < 25_500
        assert [p.age for p in seen] == [timedelta(0), timedelta(seconds=20_000)], "newest first"
        assert [p.rows for p in seen] == [20_000, 20_000]
        with pytest.raises(millpond.CatalogError, match="registered already"):
            db.create_reduction("old_less", old_less)
        db.create_reduction("broken", lambda _portion: 1 / 0)
        with pytest.raises(millpond.SqlError, match='reduction "broken" failed'):
            db.sql("SELECT k FROM r REDUCE USING broken()")
        db.create_reduction("too_much", lambda _portion: 2.0)
        with pytest.raises(millpond.SqlError, match='reduction "too_much" answered'):
            db.sql("SELECT k FROM r REDUCE USING too_much()")


def test_a_table_without_a_layout_says_what_it_costs(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t")
        db.append("r", [(i % 100, i) for i in range(20_000)])
        db.archive()
        found = db.sql("SELECT avg(k) FROM r REDUCE TO 10 PERCENT").reduction
        assert found is not None
        assert found.bytes == found.bytes_in_all
        assert found.notes[-1].startswith("all files were read all the same: ALTER STREAMING TABLE ... SET REDUCE BY")
        found = db.sql("SELECT avg(k) FROM r WITHIN 10 PERCENT").reduction
        assert found is not None
        assert (found.fraction, found.bytes, found.notes) == (1.0, found.bytes_in_all, ())


@pytest.mark.parametrize("rows", [0, 3])
def test_little_to_read_is_read_in_full(tmp_path: Path, rows: int) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t REDUCE BY RANDOMIZE")
        if rows:
            db.append("r", [(i, i) for i in range(rows)])
        for how in ("r REDUCE TO 1 PERCENT", "r"):
            within = "" if "REDUCE" in how else " WITHIN 1 PERCENT"
            found = db.sql(f"SELECT count(*) AS n, sum(k) AS s, avg(k) AS a FROM {how}{within}")
            total, mean = (3, 1.0) if rows else (None, None)
            assert found.rows() == [(rows, rows, rows, total, total, total, mean, mean, mean)]
            assert found.reduction is not None
            assert (found.reduction.fraction, found.reduction.notes) == (1.0, ())
            assert db.sql(f"SELECT k, count(*) FROM {how} GROUP BY k HAVING count(*) > 5{within}").rows() == []


@pytest.mark.parametrize(
    "items",
    [
        "count(k) FILTER (WHERE t > 500)",
        "count(*) FILTER (WHERE k < 50)",
        "sum(k) FILTER (WHERE t > 500), count(*)",
        "k % 3, avg(k), count(k)",
        "median(k), count(*)",
        "sum(CAST(k AS DECIMAL(10, 2)))",
        "2 * avg(k) + 1, count(*) AS n",
    ],
)
def test_estimates_of_everything_are_the_exact_answer(tmp_path: Path, items: str) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t REDUCE BY RANDOMIZE")
        db.append("r", [(i % 100, i) for i in range(20_000)])
        db.archive()
        group = " GROUP BY k % 3 ORDER BY 1" if items.startswith("k %") else ""
        exact = db.sql(f"SELECT {items} FROM r{group}")
        found = db.sql(f"SELECT {items} FROM r REDUCE TO 100 PERCENT{group}")
        assert [name for name in found.columns if not name.endswith(("_low", "_high"))] == exact.columns
        for name in exact.columns:
            wanted = [float(v) for v in exact.arrow()[name].to_pylist()]
            assert [float(v) for v in found.arrow()[name].to_pylist()] == pytest.approx(wanted, abs=0.51)
            if f"{name}_low" in found.columns:
                assert found.arrow()[f"{name}_low"].to_pylist() == found.arrow()[name].to_pylist()


def test_the_footer_says_what_was_read(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t REDUCE BY RANDOMIZE")
        db.append("r", [(i % 100, i) for i in range(40_000)])
        db.archive()
        shown = repr(db.sql("SELECT avg(k) AS k FROM r REDUCE TO 25 PERCENT WHERE k < 90"))
        assert "k_low" in shown
        assert "(1 row)\nread 2" in shown
        assert "blocks of randomised runs\nestimated; the bounds hold in 95 of 100 answers" in shown
        assert "<p>estimated; " in db.sql("SELECT avg(k) FROM r REDUCE TO 25 PERCENT")._repr_html_()
        plan = db.sql("EXPLAIN SELECT avg(k) FROM r REDUCE TO 25 PERCENT").rows()
        assert plan[-1][0].startswith("reduced: read 2")
        plan = db.sql("EXPLAIN ANALYZE SELECT avg(k) FROM r WITHIN 20 PERCENT").rows()
        assert plan[-3][0] == "reduced: as much is read as an error of 20 % (in 95 of 100 answers) takes"
        assert plan[-1][0] == "estimated; the bounds hold in 95 of 100 answers"
        exact = db.sql("SELECT avg(k) FROM r")
        assert exact.reduction is None
        layout = db.sql("SHOW LAYOUTS").rows()
        assert [row[:4] for row in layout] == [("r", "randomize", None, 1)]
        db.sql("ALTER STREAMING TABLE r SET REDUCE BY REPLICATE (50, 90)")
        assert db.sql("SELECT levels, to_convert FROM millpond.layouts").rows() == [("50, 90", 40_000)]
        db.archive()
        db.archive()
        assert db.sql("SELECT levels, copies, to_convert FROM millpond.layouts").rows() == [("50, 90", 2, 0)]
