"""What an outlet keeps: what the result shows as a table always, of the rest no more than so many bytes."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from millpond.catalog import ContinuousQuery
from millpond.clock import SystemClock
from millpond.errors import ResultsGone
from millpond.event_time import Progress
from millpond.results import outlet as outlets
from millpond.results.archive import ResultArchive
from millpond.results.delivery import Cursor
from millpond.results.outlet import Outlet
from millpond.schema import Schema


def made(history: timedelta | None) -> Outlet:
    columns = Schema.of([("v", "BIGINT"), ("instant", "BIGINT")])
    return Outlet(
        ContinuousQuery("q", "SELECT 1", "rstream", None, columns, "q-0", ("r",), history), threading.Condition()
    )


def fill(outlet: Outlet, instants: int) -> None:
    for instant in range(instants):
        outlet.progress = Progress(instant + 1, instant)
        outlet.take(100 * instant, pa.table({"v": range(100), "instant": [instant] * 100}))


@pytest.mark.parametrize(("history", "wanted"), [(None, 1), (timedelta(seconds=20), 40)])
def test_old_results_go_but_never_those_that_are_wanted(
    monkeypatch: pytest.MonkeyPatch, history: timedelta | None, wanted: int
) -> None:
    monkeypatch.setattr(outlets, "KEPT_BYTES", 16_000)  # ten instants
    outlet = made(history)
    fill(outlet, 100)
    kept = (outlet.next - outlet.first) // 100
    assert outlet.next == 10_000
    assert kept >= wanted
    assert kept == max(10, wanted)
    assert outlet.bytes == kept * 1600
    assert outlet.fetch(outlet.first).num_rows == kept * 100
    outlet.forget(outlet.next)
    assert (outlet.bytes, outlet.rows) == (0, 0)


def test_small_batches_are_put_together_and_nothing_else_changes() -> None:
    outlet = made(timedelta(days=1))
    for instant in range(1000):
        outlet.progress = Progress(instant + 1, instant)
        outlet.take(3 * instant, pa.table({"v": [0, 1, 2], "instant": [instant] * 3}))
    assert len(outlet._batches) < 200
    assert outlet.bytes == 3000 * 16
    assert outlet.fetch(0).column("_seq").to_pylist() == list(range(3000))
    assert outlet.fetch(1234, 5).to_pylist() == [
        {"v": n % 3, "instant": n // 3, "_seq": n} for n in range(1234, 1239)
    ]  # fmt: skip
    assert outlet.first_number(500) == 1500


def test_rows_that_are_known_are_not_taken_again() -> None:
    outlet = made(timedelta(days=1))
    outlet.take(0, pa.table({"v": range(5), "instant": range(5)}))
    outlet.take(3, pa.table({"v": range(3, 9), "instant": range(3, 9)}))
    outlet.take(2, pa.table({"v": [2], "instant": [2]}))
    assert outlet.fetch(0).column("v").to_pylist() == list(range(9))


def test_a_gap_is_never_handed_out() -> None:
    """Rows before lost ones are handed out; whoever comes to the lost ones is told."""
    outlet = made(timedelta(days=1))
    cursor = Cursor(lambda: outlet, 0, lambda: None)
    outlet.take(0, pa.table({"v": range(5), "instant": range(5)}))
    assert len(cursor.take(2)) == 2
    outlet.take(8, pa.table({"v": [8], "instant": [8]}))
    assert (outlet.first, outlet.next) == (0, 9)
    assert cursor.take().arrow().column("_seq").to_pylist() == [2, 3, 4]
    with pytest.raises(ResultsGone, match="after position 4 are lost"):
        cursor.take()


def test_a_cursor_at_the_start_is_told_of_results_that_left_meanwhile() -> None:
    outlet = made(None)
    cursor = Cursor(lambda: outlet, 0, lambda: None)
    outlet.take(0, pa.table({"v": range(5), "instant": [0] * 5}))
    outlet.progress = Progress(5, 4)
    outlet.forget(5)
    with pytest.raises(ResultsGone, match="after position -1 are no longer kept"):
        cursor.take()


def test_batches_on_both_sides_of_lost_results_are_not_put_together() -> None:
    outlet = made(timedelta(days=1))
    for number in [*range(100), *range(200, 300)]:
        outlet.take(number, pa.table({"v": [number], "instant": [number]}))
    assert outlet.fetch(0).column("v").to_pylist() == list(range(100))
    assert outlet.fetch(150).column("v").to_pylist() == list(range(200, 300))


def test_a_reader_that_skipped_deleted_segments_forgets_what_it_had() -> None:
    outlet = made(timedelta(days=1))
    outlet.take(0, pa.table({"v": range(5), "instant": range(5)}))
    outlet.skip_to(8)
    outlet.take(8, pa.table({"v": [8], "instant": [8]}))
    assert (outlet.first, outlet.next) == (8, 9)
    with pytest.raises(ResultsGone, match="no longer kept"):
        Cursor(lambda: outlet, 3, lambda: None).take()


def test_who_comes_back_when_nothing_is_kept_any_more_is_told() -> None:
    outlet = made(None)
    outlet.take(0, pa.table({"v": range(5), "instant": [0] * 5}))
    outlet.progress = Progress(5, 4)
    outlet.forget(5)
    assert outlet.first == 5
    with pytest.raises(ResultsGone, match="after position 2 are no longer kept"):
        Cursor(lambda: outlet, 3, lambda: None).take()
    assert len(Cursor(lambda: outlet, 5, lambda: None).take()) == 0


def test_rows_in_memory_stay_while_older_ones_are_in_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Were they let go first, a longer RANGE would show the files' rows and not theirs."""
    monkeypatch.setattr(outlets, "KEPT_BYTES", 160)
    outlet = made(timedelta(seconds=5))
    outlet.archive = ResultArchive(tmp_path / "q-0", outlet.query.columns, SystemClock())
    outlet.take(0, pa.table({"v": range(10), "instant": range(10)}))
    outlet.progress = Progress(10, 9)
    rows = outlet.leaving(4)
    assert rows is not None
    assert outlet.archive.write(rows, 1)
    outlet.left()
    outlet.progress = Progress(1000, 999)  # nothing of it is wanted any more
    outlet.take(10, pa.table({"v": range(10, 40), "instant": [1000] * 30}))
    outlet.forget(10)
    assert outlet.fetch(0).column("_seq").to_pylist() == list(range(40))
    assert not outlet.may_leave(10)
    outlet.archive.tidy(outlet.wanted_since())
    assert outlet.may_leave(10)
    outlet.forget(10)
    assert outlet.first == 10
