"""Predicates of many queries of one text are those that each text has by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond
from millpond.standing import templates

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
