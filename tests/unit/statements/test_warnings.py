"""Statements warn in their message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond

WARNING = "; warning: with SAMPLE REALTIME it sends all of its result"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path / "pond") as pond:
        pond.sql("CREATE STREAMING TABLE s (k STRING, v INT, t BIGINT) TIMESTAMP BY t")
        yield pond


@pytest.mark.parametrize(
    ("select", "warned"),
    [
        ("SELECT k FROM s [INTERVAL '1' HOUR] SAMPLE REALTIME", True),
        ("SELECT k, v FROM s [k ROWS 1] SAMPLE REALTIME", True),
        ("SELECT k, COUNT(*) AS n FROM s [INTERVAL '1' HOUR] GROUP BY k SAMPLE REALTIME", True),
        ("SELECT RSTREAM k FROM s [INTERVAL '1' HOUR] SAMPLE REALTIME", False),
        ("SELECT ISTREAM k FROM s [INTERVAL '1' HOUR] SAMPLE REALTIME", False),
        ("SELECT k FROM s [INTERVAL '1' HOUR] SAMPLE INTERVAL '1' MINUTE", False),
        ("SELECT k FROM s [NOW] SAMPLE REALTIME", False),
        ("SELECT k FROM s [ROWS 1] SAMPLE REALTIME", False),
        ("SELECT k FROM s [k ROWS 2] WHERE t = NOW() SAMPLE REALTIME", False),
        ("SELECT COUNT(*) AS n FROM s [INTERVAL '1' HOUR] SAMPLE REALTIME", False),
        ("SELECT k, COUNT(*) AS n FROM s GROUP BY k, session_window(t, '5 minutes')", False),
    ],
)
def test_a_query_that_resends_its_window_is_warned_of(db: millpond.Pond, select: str, warned: bool) -> None:
    message = db.sql(f"CREATE CONTINUOUS QUERY q AS {select}").message
    assert message.startswith('continuous query "q" created')
    assert (WARNING in message) == warned
    assert ("SELECT ISTREAM" in message) == warned
