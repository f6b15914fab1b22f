"""Statistics over windows in little memory. docs/synopses.md tells which one to take."""

from __future__ import annotations

from millpond.synopses.base import Estimate, Synopsis, SynopsisError
from millpond.synopses.correlated import CorrelatedAggregate, Limit, Predicate
from millpond.synopses.counting import ExponentialHistogram, SlidingSum
from millpond.synopses.distinct import SlidingDistinct
from millpond.synopses.extremes import SlidingExtremes
from millpond.synopses.grouped import Estimates, GroupedExponentialHistogram, GroupedSlidingSum
from millpond.synopses.grouped_distinct import GroupedSlidingDistinct
from millpond.synopses.grouped_norms import GroupedSlidingLp
from millpond.synopses.histogram import SlidingHashTable, SlidingHistogram
from millpond.synopses.means import SlidingMean, SlidingVariance
from millpond.synopses.norms import SlidingLp
from millpond.synopses.series import Correlation, Moving, Pairs, PairsAbove, SeriesMonitor, TopPairs

__all__ = [
    "CorrelatedAggregate",
    "Correlation",
    "Estimate",
    "Estimates",
    "ExponentialHistogram",
    "GroupedExponentialHistogram",
    "GroupedSlidingDistinct",
    "GroupedSlidingLp",
    "GroupedSlidingSum",
    "Limit",
    "Moving",
    "Pairs",
    "PairsAbove",
    "Predicate",
    "SeriesMonitor",
    "SlidingDistinct",
    "SlidingExtremes",
    "SlidingHashTable",
    "SlidingHistogram",
    "SlidingLp",
    "SlidingMean",
    "SlidingSum",
    "SlidingVariance",
    "Synopsis",
    "SynopsisError",
    "TopPairs",
]
