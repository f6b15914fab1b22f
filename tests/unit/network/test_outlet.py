"""What an outlet keeps: what the result shows as a table always, of the rest no more than so many bytes."""

from __future__ import annotations

import threading
from datetime import timedelta

import pyarrow as pa
import pytest

from millpond.catalog import ContinuousQuery
from millpond.network import outlet as outlets
from millpond.network.instants import Progress
from millpond.network.outlet import Outlet
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
