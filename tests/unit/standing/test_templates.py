"""Predicates of many queries of one text are those that each text has by itself."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import millpond
from millpond.standing import templates
from millpond.statements import standing

TEXTS = [
    ("v = ?", [(i,) for i in range(60)]),
    ("v < ? AND s = ?", [(i, f"s{i % 7}") for i in range(60)]),
    ("d < ?", [(i / 4,) for i in range(60)]),
    ("d < ?", [(i,) for i in range(60)]),
    ("s LIKE ?", [(f"s{i % 7}%",) for i in range(60)]),
    ("v BETWEEN ? AND 30", [(i,) for i in range(60)]),
    ("v IN (?, ?)", [(i, 2 * i) for i in range(60)]),
    ("NOT (v > ? OR s = 's1')", [(i,) for i in range(60)]),
    ("v = ?", [(i if i % 2 else None,) for i in range(60)]),
    ("v + ? > 40", [(i,) for i in range(60)]),
    ("d < ?", [(i / 4 if i % 2 else i,) for i in range(100)]),
]


@pytest.mark.parametrize(("where", "values"), TEXTS)
def test_answers_are_those_of_each_alone(tmp_path: Path, where: str, values: list[tuple[object, ...]]) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, d DOUBLE, s STRING, t BIGINT) TIMESTAMP BY t")
        handles = db.register_many(f"SELECT v, t FROM r WHERE {where} END NOW", values)
        db.append("r", [(i % 61 or None, i / 3, f"s{i % 9}", i) for i in range(200)])
        db.tick()
        for handle, each in list(zip(handles, values, strict=True))[::7]:
            text = f"SELECT v, t FROM r [END NOW] WHERE {where}"
            assert handle.invoke().rows() == db.sql(text, list(each)).rows()


def test_a_text_is_read_a_few_times_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    made = templates._made
    monkeypatch.setattr(
        templates, "_made", lambda read, values: made(lambda each: counted.append(1) or read(each), values)
    )
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, s STRING, t BIGINT) TIMESTAMP BY t")
        db.register_many("SELECT t FROM r WHERE s = ? AND v < ?", [(f"s{i}", i) for i in range(2000)])
    assert len(counted) < 30


@pytest.mark.parametrize(
    "values",
    [
        [(i / 2 if i % 2 else i,) for i in range(2000)],  # of two types
        [(f"\x00{i}" if i % 100 == 0 else f"s{i}",) for i in range(2000)],  # some cannot be served: then none is
    ],
)
def test_mixed_values_do_not_make_each_text_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[tuple[object]]
) -> None:
    """A hundred thousand took ten minutes."""
    counted = []
    reading = standing.read_standing
    monkeypatch.setattr(standing, "read_standing", lambda *given: counted.append(1) or reading(*given))
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (d DOUBLE, s STRING, t BIGINT) TIMESTAMP BY t")
        column = "s" if isinstance(values[0][0], str) else "d"
        handles = db.register_many(f"SELECT t FROM r WHERE {column} = ?", values)
        assert len(handles) == 2000
        assert len(counted) < 60


def test_registering_many_has_one_time_for_all(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, query_time="0.2 seconds") as db:
        db.sql("CREATE STREAMING TABLE r (day DATE, t BIGINT) TIMESTAMP BY t")
        with pytest.raises(millpond.LimitExceeded, match="query_time"):
            db.register_many("SELECT t FROM r WHERE day = ?", [(date.fromordinal(i + 1),) for i in range(3000)])
        assert len(db.sql("SHOW STANDING QUERIES")) == 0


def test_registering_many_keeps_within_the_memory_that_is_set(tmp_path: Path) -> None:
    """Also before the next tick, which may never come."""
    with millpond.connect(tmp_path / "pond", auto_archive=False, standing_memory=100_000) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        handles = db.register_many("SELECT t FROM r WHERE v = ?", [(i,) for i in range(20_000)])
        assert db._workspace.standing.bytes <= 100_000
        db.append("r", [(i % 20_000, i) for i in range(40_000)])
        db.tick()
        assert db._workspace.standing.bytes <= 100_000
        assert [handle.invoke().rows() for handle in handles[::5000]] == [
            [(i + 20_000,), (i,)] for i in range(0, 20_000, 5000)
        ]
