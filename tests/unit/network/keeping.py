"""Snapshots of synopses that are written often, and a look at when they are used."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millpond.network.aggregates import summaries as summarised
from millpond.network.aggregates.summaries import Summarised
from millpond.network.run import tick_plan


def kept_often(monkeypatch: pytest.MonkeyPatch, ticks: int = 3) -> list[int]:
    """From now on snapshots are begun every so many ticks, however few rows there are. Since when rows were read, at each use."""
    monkeypatch.setattr(tick_plan, "CHECKPOINT_TICKS", ticks)
    monkeypatch.setattr(tick_plan, "CHECKPOINT_PAUSE", 0.0)
    monkeypatch.setattr(summarised, "_WORTH", 1)
    used: list[int] = []
    restore = Summarised.restore

    def watched(self: Summarised, parts: pa.Table, since: int) -> None:
        used.append(since)
        restore(self, parts, since)

    monkeypatch.setattr(Summarised, "restore", watched)
    return used
