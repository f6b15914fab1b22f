"""Windows, periods and selections hold what the definition says, whatever happened to the rows before they are asked for.

Random rows (equal times, late ones, NULLs, gaps, negative times), cut, archived, compacted, reopened, indexed, changed and
widened at random moments, in one shard and in four; every answer equals that of the naive list in `oracle.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.laws.oracle import Condition, grouped
from tests.laws.scripts import Life, Setting, conditions, events, row_lists, settings_of_tables

# Until block.py says it as pyarrow 25 wants it; tests/unit/table/test_block.py notices when it does.

LONG = settings(max_examples=300, suppress_health_check=list(HealthCheck))
SHORT = settings(max_examples=25, suppress_health_check=list(HealthCheck))

lengths = st.sampled_from([0, 1, 2, 5, 50, 200_000])
counts = st.sampled_from([1, 2, 3, 7, 1000])
keys = st.sampled_from([("k",), ("name",), ("k", "name"), ("v",)])


def check_windows(life: Life, length: int, count: int, key: tuple[str, ...], since: int) -> None:
    oracle, unit = life.oracle, life.unit
    life.check_window(life.seconds(length), oracle.interval(length * unit))
    if length:
        life.check_window(f"LANDMARK {life.seconds(length)}", oracle.landmark(length * unit))
    life.check_window(f"ROWS {count}", oracle.newest(count))
    life.check_window(f"{', '.join(key)} ROWS {count}", oracle.newest_of_each(key, count))
    within = oracle.newest_of_each(key, count, length * unit)
    life.check_window(f"{', '.join(key)} ROWS {count} WITHIN {life.seconds(length)}", within)
    mark = f"'{life.time(since):%Y-%m-%d %H:%M:%S.%f}'" if life.setting.timestamps else str(since)
    life.check_window(f"SINCE {mark}", oracle.since(since * unit))
    life.check_window("NOW", oracle.at_now())
    life.check_window("UNBOUNDED", oracle.newest_first())


def windows_hold(
    setting: Setting, story: list[tuple[Any, ...]], length: int, count: int, key: tuple[str, ...], since: int
) -> None:
    with Life(setting) as life:
        for event in story:
            life.live(event)
        check_windows(life, length, count, key, since)
        life.check_everything()


window_cases = given(
    settings_of_tables, st.lists(events, max_size=8), lengths, counts, keys, st.sampled_from([-10, 0, 3, 90_000])
)
test_windows_hold = SHORT(window_cases(windows_hold))
test_windows_hold_long = pytest.mark.slow(pytest.mark.timeout(3600)(LONG(window_cases(windows_hold))))


def selections_hold(
    setting: Setting, story: list[tuple[Any, ...]], one: Condition, two: Condition, length: int, count: int, start: int
) -> None:
    with Life(setting) as life:
        for event in story:
            life.live(event)
        oracle = life.oracle
        for condition in (one, two):
            text, scaled = life.sql(condition), life.scaled(condition)
            chosen = oracle.where(scaled)
            life.check_rows(f"SELECT {life.all_columns} FROM r WHERE {text}", life.tuples(chosen))
            groups = "SELECT name, count(*), count(v), sum(v), min(t), max(t) FROM r WHERE {} GROUP BY name"
            life.check_rows(groups.format(text), grouped(chosen, "name", "v"))
            # A condition above a window chooses among its rows, and never changes which rows it holds.
            for window, rows in (
                (f"ROWS {count}", oracle.newest(count)),
                (f"k ROWS {count}", oracle.newest_of_each(("k",), count)),
                (life.seconds(length), oracle.interval(length * life.unit)),
            ):
                kept = [row for row in rows if row in chosen]
                life.check_rows(f"SELECT {life.all_columns} FROM r [{window}] WHERE {text}", life.tuples(kept))
        period = f"PERIOD({life.literal(start)}, {life.literal(start + length)})"
        during = oracle.during(start * life.unit, (start + length) * life.unit)
        life.check_rows(f"SELECT {life.all_columns} FROM r WHERE VALID(r) OVERLAPS {period}", life.tuples(during))
        both = [row for row in during if row in oracle.where(life.scaled(one))]
        question = f"SELECT {life.all_columns} FROM r AS x WHERE VALID(x) OVERLAPS {period} AND {life.sql(one)}"
        life.check_rows(question, life.tuples(both))


selection_cases = given(
    settings_of_tables,
    st.lists(events, max_size=8),
    conditions,
    conditions,
    lengths,
    counts,
    st.sampled_from([-11, 0, 2, 90_000]),
)
test_selections_hold = SHORT(selection_cases(selections_hold))
test_selections_hold_long = pytest.mark.slow(pytest.mark.timeout(3600)(LONG(selection_cases(selections_hold))))


def test_a_join_sees_each_window_for_itself() -> None:
    rows = [{"k": i % 3, "name": "a", "v": i, "t": i // 2} for i in range(12)]
    with Life(Setting(shards=4, shard_by_key=True)) as life:
        for start in range(0, 12, 4):
            life.live(("rows", rows[start : start + 4]))
            life.live(("archive",))
        newest = life.oracle.newest_of_each(("k",), 2)
        last = life.oracle.newest(5)
        expected = [(a["v"], b["v"]) for a in newest for b in last if a["k"] == b["k"]]
        life.check_rows("SELECT a.v, b.v FROM r [k ROWS 2] AS a JOIN r [ROWS 5] AS b ON a.k = b.k", expected)


@given(row_lists(most=40))
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
def test_compaction_is_invisible(rows: list[dict[str, Any]]) -> None:
    """A file for each row, merged again and again."""
    with Life(Setting(keep_late=True, block_rows=64)) as life:
        for row in rows:
            life.live(("rows", [row]))
            life.live(("archive",))
        check_windows(life, 5, 3, ("k",), 0)
        life.check_everything()
