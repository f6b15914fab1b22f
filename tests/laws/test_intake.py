"""Nothing is lost in silence: rows offered = accepted + rejected, row by row as the oracle judges them."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import millpond
from millpond.errors import RowsRejected
from tests.laws.oracle import Row
from tests.laws.scripts import Life, Setting, events, row_lists, settings_of_tables

LONG = settings(max_examples=300, suppress_health_check=list(HealthCheck))
SHORT = settings(max_examples=25, suppress_health_check=list(HealthCheck))

offers = st.one_of(
    st.tuples(st.just("rows"), row_lists(null_times=True)),
    st.tuples(st.just("rows"), row_lists(null_times=True)),
    st.tuples(st.just("advance"), st.sampled_from([-20, 0, 5, 100, 100_020])),
    st.tuples(st.just("archive")),
    st.tuples(st.just("reopen")),
)


def rows_are_judged(setting: Setting, story: list[tuple[Any, ...]]) -> None:
    offered = 0
    with Life(setting) as life:
        for event in story:
            life.live(event)
            offered += len(event[1]) if event[0] == "rows" else 0
            assert life.ticks(life.db.now("r")) == life.oracle.now
        life.check_everything()
        status = life.db.status()["tables"]["r"]
        assert status["accepted"] + status["late"] + status["malformed"] == offered
        assert status["rows"] == len(life.oracle.rows)
        texts = life.ask("SELECT row FROM r_rejected WHERE reason LIKE 'late: t = %'")
        assert Counter(json.loads(t)["v"] for (t,) in texts) == Counter(row["v"] for row in life.oracle.late)
        texts = life.ask("SELECT row FROM r_rejected WHERE reason = 'time column \"t\" is NULL'")
        assert Counter(json.loads(t)["v"] for (t,) in texts) == Counter(row["v"] for row in life.oracle.malformed)


cases = given(settings_of_tables, st.lists(offers, max_size=10))
test_rows_are_judged = SHORT(cases(rows_are_judged))
test_rows_are_judged_long = pytest.mark.slow(pytest.mark.timeout(3600)(LONG(cases(rows_are_judged))))


@given(row_lists(most=25), st.booleans(), st.booleans(), st.sampled_from([1, 4]), st.lists(events, max_size=3))
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_retention_keeps_the_history_period(
    rows: list[Row], timestamps: bool, keep: bool, shards: int, story: list[tuple[Any, ...]]
) -> None:
    """Never less than the period, never more than a tenth beyond it once archived, and never a row that was not there."""
    history = 60
    with Life(Setting(timestamps, 2, keep, shards, history=history)) as life:
        for event in [*story, ("rows", rows[:10]), ("archive",), ("rows", rows[10:]), ("archive",), ("archive",)]:
            if event[0] not in ("delete", "update", "column"):
                life.live(event)
        kept = life.ask(f"SELECT {life.all_columns} FROM r")
        now = life.oracle.now
        must = [row for row in life.oracle.rows if now is None or row["t"] >= now - history * life.unit]
        assert not Counter(life.tuples(must)) - Counter(kept)
        assert not Counter(kept) - Counter(life.tuples(life.oracle.rows))
        width = history * life.unit // 10
        assert all(now is None or row[3] >= now - history * life.unit - width for row in kept)


mixed = st.one_of(
    st.none(), st.integers(-(2**70), 2**70), st.floats(allow_nan=True), st.booleans(), st.text(max_size=4), st.decimals(),
    st.sampled_from(["1", "-7", "1.0", " 3", "nan", "true", "2026-01-01", "2026-01-01 00:00:00"]), st.dates(), st.datetimes(),
    st.binary(max_size=2), st.just("\ud800"),
)  # fmt: skip


@given(st.lists(st.tuples(mixed, mixed, mixed, st.one_of(st.integers(0, 5), mixed)), max_size=8))
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
def test_whatever_is_offered_is_accepted_or_rejected(rows: list[tuple[Any, ...]]) -> None:
    """Any Python values: each row is taken or refused by itself, alone as in company, and nothing raises."""
    with Life(Setting(keep_late=True)) as life, Life(Setting(keep_late=True)) as other:
        receipts = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsRejected)
            receipt = life.db.append("r", rows)
            receipts = [other.db.append("r", [row]) for row in rows]
        assert receipt.accepted + receipt.rejected == len(rows)
        assert receipt.accepted == sum(r.accepted for r in receipts)
        for question in ("SELECT k, name, v, t FROM r", "SELECT reason, row FROM r_rejected"):
            assert Counter(life.ask(question)) == Counter(other.ask(question))


def test_malformed_rows_are_told() -> None:
    with Life(Setting()) as life:
        with pytest.warns(RowsRejected) as told:
            receipt = life.db.append("r", [(1, "a", 1, 1), ("x", "b", 2, 2), (1, "c", "y", 3), (1, "d", 4, None)])
        assert (receipt.accepted, receipt.late, receipt.malformed, receipt.rejected) == (1, 0, 3, 3)
        assert [str(w.message) for w in told] == [
            '3 of 4 rows offered to "r" were malformed; first: column "k": \'x\' is not an INT. '
            'They are in "r_rejected".'
        ]


def test_late_rows_are_only_counted() -> None:
    with Life(Setting()) as life:
        receipt = life.db.append("r", [(1, "a", 1, 5), (1, "a", 1, 4)])
        assert receipt == millpond.Receipt("r", 1, 1, 0)
