"""Joins of streams whose results are kept: when they are, and what is told when they are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from millpond.errors import MillpondError
from millpond.standing import kept_join


@pytest.fixture
def db(tmp_path: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        for name in ("r", "q"):
            pond.sql(f"CREATE STREAMING TABLE {name} (k STRING, a INT, x DOUBLE, t BIGINT) TIMESTAMP BY t")
            pond.append(name, [("one", 1, 0.5, 10), ("two", 2, 1.5, 20), (None, 3, None, 30)])
        yield pond


def once(db: millpond.Pond, text: str) -> list[tuple[object, ...]]:
    return sorted(db.register(text, keep="nothing").invoke().rows())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT r.t, q.t AS other FROM r, q WHERE r.k = q.k END NOW",
        "SELECT r.t, q.t AS other FROM r JOIN q ON r.a < q.a + 1 AND q.x > 0 WHERE r.t >= 10 BEGIN NOW - 2 ROWS END NOW",
        "SELECT r.t, q.x FROM r [BEGIN 10 END NOW], q [BEGIN NOW - INTERVAL '10' SECOND END NOW] WHERE r.x <> q.x + 0.25D",
        "SELECT x.t, y.t AS other FROM r x, r y WHERE x.a < y.a END NOW",
        "SELECT x.t, q.t AS qt, y.t AS yt FROM r x CROSS JOIN q JOIN r y ON y.k >= q.k END NOW",
    ],
)
def test_joins_are_kept_as_rows_that_belong_together(db: millpond.Pond, text: str) -> None:
    handle = db.register(text)
    for time in (40, 50, 60):
        answer = handle.invoke()
        assert answer.way == "join"
        assert sorted(answer.rows()) == once(db, text)
        db.append("r", [("two", time // 10, 1.0, time)])
        db.append("q", [("two", time // 10 - 1, 2.0, time - 5)])
        assert sorted(handle.invoke().rows()) == once(db, text), "also with rows that no tick has seen"
        db.tick()
    assert "belong together" in handle.explain().rows()[2][0]
    handle.drop()
    assert db._workspace.standing.bytes == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT r.t FROM r LEFT JOIN q ON r.k = q.k", "it joins in another way than INNER"),
        ("SELECT r.a + q.a AS s FROM r, q WHERE r.k = q.k", "it computes more than columns of its streams"),
        ("SELECT r.t FROM r, q WHERE r.a * 2 = q.a", "it compares its streams by more than columns and numbers"),
        ("SELECT r.t FROM r, q WHERE r.k = q.k AND length(r.k) > 2", "its WHERE says more than an index can"),
        ("SELECT DISTINCT r.t FROM r, q WHERE r.k = q.k", "it has DISTINCT"),
    ],
)
def test_other_joins_are_answered_over_their_matches(db: millpond.Pond, text: str, reason: str) -> None:
    handle = db.register(text)
    assert handle.explain().rows()[2] == (f"answered by DuckDB over its matches, because {reason}",)
    assert handle.invoke().way == "rows"
    assert sorted(handle.invoke().rows()) == once(db, text)


def test_a_sum_that_may_exceed_its_type_is_left_to_an_engine(db: millpond.Pond) -> None:
    handle = db.register("SELECT r.t, q.t AS other FROM r, q WHERE r.a < q.a + 5 END NOW")
    assert handle.invoke().way == "join"
    db.append("q", [("big", 2**31 - 3, 0.0, 40)])
    with pytest.raises(MillpondError):
        handle.invoke()
    db.tick()
    assert "a sum in its WHERE may exceed its type" in handle.explain().rows()[2][0]


def test_a_join_with_too_many_results_is_not_kept(db: millpond.Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_join, "MOST_TUPLES", 10)
    text = "SELECT r.t, q.t AS other FROM r, q WHERE r.a <> q.a END NOW"
    handle = db.register(text)
    assert handle.invoke().way == "join"
    db.append("r", [("r", 9, 0.0, 40 + i) for i in range(5)])
    db.tick()
    assert handle.invoke().way == "rows"
    assert sorted(handle.invoke().rows()) == once(db, text)
    assert "would be kept of it" in handle.explain().rows()[2][0]
