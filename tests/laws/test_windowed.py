"""What a reduction answers is what the rows answer: whatever came, late or not, was changed, archived, or survived a restart.

Windows are read even where the rows would be less to read, since these tables are small.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from millpond.statements import windowed

LONG = settings(max_examples=300, deadline=None)
SHORT = settings(max_examples=20, deadline=None)
EVERY = 10
LAST = 120

QUESTIONS = (
    "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, MIN(x) AS low, MAX(x) AS high, AVG(d) AS ad, SUM(d) AS sd FROM t{} GROUP BY k",
    "SELECT COUNT(x) AS n, AVG(x) AS a, MAX(name) AS m FROM t{} WHERE k <> 'b' AND time >= {low} AND time < {high}",
    "SELECT window.start AS w, k, COUNT(*) AS n, SUM(x) * 2 AS s FROM t{} WHERE time BETWEEN {low} AND {high} "
    "GROUP BY window(time, '20 seconds'), k HAVING COUNT(*) > 1",
    "SELECT k, MIN(name) AS m FROM t{} WHERE time > NOW() - {low} AND time DIV 10 <> 3 GROUP BY k ORDER BY k LIMIT 2",
)

rows = st.tuples(
    st.sampled_from(["a", "b", "c", None]),
    st.one_of(st.none(), st.integers(-5, 5)),
    st.one_of(st.none(), st.integers(-300, 300).map(lambda n: n / 100)),
    st.one_of(st.none(), st.sampled_from(["x", "y", "z"])),
    st.integers(0, LAST),
)


@dataclass(frozen=True)
class Step:
    what: str
    rows: tuple[Any, ...] = ()
    low: int = 0
    high: int = 0


def steps() -> st.SearchStrategy[Step]:
    stretch = st.tuples(st.integers(0, LAST), st.integers(0, 60))
    plain = st.sampled_from(["tick", "archive", "reopen"]).map(Step)
    appended = st.lists(rows, min_size=1, max_size=12).map(lambda found: Step("append", tuple(found)))
    on = st.builds(
        lambda what, s: Step(what, (), s[0], s[0] + s[1]), st.sampled_from(["update", "delete", "ask"]), stretch
    )
    at = st.builds(
        lambda what, at: Step(what, (), at), st.sampled_from(["advance", "lateness", "back"]), st.integers(0, LAST)
    )
    return st.one_of(appended, appended, plain, on, on, at)


@pytest.fixture
def windows_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windowed._Reading, "_cheaper", lambda _self, _plan, cut: cut)


def windows_answer_as_rows_do(script: list[Step], made: int, lateness: int, shards: int, keep: bool) -> None:
    """The reductions are created after `made` steps; `keep`: rows that windows do not look at are changed too."""
    folder = Path(tempfile.mkdtemp())
    try:
        _run(folder, script, made, lateness, shards, keep)
    finally:
        shutil.rmtree(folder)


cases = given(
    st.lists(steps(), min_size=3, max_size=14),
    st.integers(0, 3),
    st.sampled_from([0, 7, 25]),
    st.sampled_from([1, 2]),
    st.booleans(),
)
windows_first_of_all = pytest.mark.usefixtures("windows_first")
test_windows_answer_as_rows_do = windows_first_of_all(SHORT(cases(windows_answer_as_rows_do)))
test_windows_answer_as_rows_do_long = pytest.mark.slow(
    pytest.mark.timeout(1800)(windows_first_of_all(LONG(cases(windows_answer_as_rows_do))))
)


def _run(folder: Path, script: list[Step], made: int, lateness: int, shards: int, keep: bool) -> None:
    db = millpond.connect(folder / "pond", auto_archive=False)
    db.sql(
        "CREATE STREAMING TABLE t (k STRING, x INT, d DECIMAL(6, 2), name STRING, other INT, time BIGINT) TIMESTAMP BY time "
        f"LATENESS INTERVAL '{lateness}' SECOND WITH (shards = '{shards}')"
    )
    for number, step in enumerate(script):
        if number == min(made, len(script) - 1):
            selected = "SELECT k, AVG(x), SUM(x), MIN(x), MAX(x), MIN(name), MAX(name), AVG(d) FROM t GROUP BY k"
            db.sql(f"CREATE REDUCTION eager ON t AS {selected} EVERY INTERVAL '{EVERY}' SECOND")
            db.sql(f"CREATE REDUCTION lazy ON t AS {selected} EVERY INTERVAL '{EVERY}' SECOND LAZY")
        if step.what == "append":
            db.append("t", [(k, x, d, name, 0, time) for k, x, d, name, time in step.rows])
        elif step.what == "tick":
            db.tick()
        elif step.what == "archive":
            db.archive()
        elif step.what == "advance":
            db.advance("t", step.low)
        elif step.what == "lateness":
            db.sql(f"ALTER STREAMING TABLE t SET LATENESS INTERVAL '{step.low}' SECOND")
        elif step.what == "back":
            with suppress(millpond.CatalogError):  # time is not that far
                db.sql(f"ALTER STREAMING TABLE t SET NOW {step.low}")
        elif step.what == "update":
            column = "other = 1" if keep else "x = x + 1"
            db.sql(f"UPDATE t SET {column} WHERE time BETWEEN {step.low} AND {step.high}")
        elif step.what == "delete":
            db.sql(f"DELETE FROM t WHERE time BETWEEN {step.low} AND {step.high} AND k = 'a'")
        elif step.what == "reopen":
            db.close()
            db = millpond.connect(folder / "pond", auto_archive=False)
        if step.what == "ask" and number >= made:
            _compare(db, step.low, step.high)
    db.tick()
    _compare(db, 0, LAST)
    _compare(db, 13, 57)
    db.close()


def _compare(db: millpond.Pond, low: int, high: int) -> None:
    for question in QUESTIONS:
        wanted = db.sql(question.format("", low=low, high=high))
        for name in ("eager", "lazy"):
            found = db.sql(question.format(f" REDUCE USING {name}", low=low, high=high))
            assert found.columns == wanted.columns
            assert sorted(found.rows(), key=repr) == sorted(wanted.rows(), key=repr), (name, question)
            assert found.reduction is not None
            assert found.reduction.exact
            assert found.arrow().schema.types == wanted.arrow().schema.types
