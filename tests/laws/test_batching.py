"""Batching, tiers, shards and indexes are invisible: the same rows, cut and kept in any way, give the same answers.

No oracle here: the product against itself. One pond gets everything at once and is left alone; the other gets the same
rows in random pieces, and is archived, reopened and indexed in between.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import millpond
from tests.laws.oracle import Condition, Row
from tests.laws.scripts import Life, Setting, conditions, row_lists, settings_of_tables

LONG = settings(max_examples=300, suppress_health_check=list(HealthCheck))
SHORT = settings(max_examples=18, suppress_health_check=list(HealthCheck))

IN_ORDER = (
    "SELECT * FROM r [ROWS 5]",
    "SELECT * FROM r [k ROWS 2]",
    "SELECT * FROM r [INTERVAL '3' SECOND]",
    "SELECT v, t FROM r [name ROWS 1 WITHIN INTERVAL '1' DAY]",
    "SHOW REJECTED",
)
IN_ANY_ORDER = (
    "SELECT * FROM r",
    "SELECT k, name, count(*), sum(v), avg(v), min(name), max(t) FROM r GROUP BY k, name",
    "SELECT reason, row FROM r_rejected",
    "SELECT a.k, b.v FROM r [k ROWS 1] a JOIN r b ON a.k = b.k AND a.t = b.t",
    "SELECT t, count(*) OVER (PARTITION BY k) FROM r WHERE name IS NOT NULL",
)
between = st.lists(st.sampled_from(["archive", "reopen", "index", "other index"]), max_size=3)


def cutting_is_invisible(
    setting: Setting, rows: list[Row], cuts: list[int], moments: list[list[str]], condition: Condition, shards: int
) -> None:
    with Life(setting) as whole, Life(replace(setting, shards=shards)) as pieces:
        whole.live(("rows", rows))
        ends = sorted({min(cut, len(rows)) for cut in cuts} | {len(rows)})
        start = 0
        for number, end in enumerate(ends):
            pieces.live(("rows", rows[start:end]))
            for what in moments[number % len(moments)] if moments else []:
                pieces.live({"index": ("index", "k"), "other index": ("index", "name")}.get(what, (what,)))
            start = end
        chosen = f"SELECT * FROM r WHERE {whole.sql(condition)}"
        for question in IN_ORDER:
            assert whole.ask(question) == pieces.ask(question), question
        for question in (*IN_ANY_ORDER, chosen):
            assert Counter(whole.ask(question)) == Counter(pieces.ask(question)), question
        assert whole.db.now("r") == pieces.db.now("r")
        # A reader that has only the folder sees the same.
        with millpond.connect(pieces.folder / "pond", create=False, engine="duckdb") as reader:
            for question in IN_ORDER:
                assert whole.ask(question) == pieces.ask(question, db=reader), question
            assert Counter(whole.ask(chosen)) == Counter(pieces.ask(chosen, db=reader))


cases = given(
    settings_of_tables,
    row_lists(most=30, null_times=True),
    st.lists(st.integers(0, 30), max_size=6),
    st.lists(between, min_size=1, max_size=4),
    conditions,
    st.sampled_from([1, 4]),
)
test_cutting_is_invisible = SHORT(cases(cutting_is_invisible))
test_cutting_is_invisible_long = pytest.mark.slow(pytest.mark.timeout(3600)(LONG(cases(cutting_is_invisible))))


@given(row_lists(most=30, null_times=True), st.booleans(), st.sampled_from([20, 60]))
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_cutting_is_invisible_for_late_rows_within_history(rows: list[Row], timestamps: bool, history: int) -> None:
    """`late = 'keep'` and RANGE: how old a row may be is judged row by row too."""
    setting = Setting(timestamps, 2, keep_late=True, history=history)
    with Life(setting) as whole, Life(setting) as pieces:
        whole.live(("rows", rows))
        for row in rows:
            pieces.live(("rows", [row]))
        for life in (whole, pieces):
            life.check_everything()
