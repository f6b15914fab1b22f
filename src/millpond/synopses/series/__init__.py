"""Many time series at once: moving statistics, correlations between them, and queries that come and go while they run."""

from __future__ import annotations

from millpond.synopses.series.monitor import SeriesMonitor
from millpond.synopses.series.pairs import Pairs
from millpond.synopses.series.queries import Correlation, Moving, PairsAbove, TopPairs

__all__ = ["Correlation", "Moving", "Pairs", "PairsAbove", "SeriesMonitor", "TopPairs"]
