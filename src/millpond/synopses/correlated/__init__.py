"""Aggregates of rows whose x lies in a range given by an aggregate of x."""

from __future__ import annotations

from millpond.synopses.correlated.aggregate import CorrelatedAggregate
from millpond.synopses.correlated.placing import Strategy
from millpond.synopses.correlated.predicate import Dependent, Independent, Limit, Predicate
from millpond.synopses.correlated.rows import exactly

__all__ = ["CorrelatedAggregate", "Dependent", "Independent", "Limit", "Predicate", "Strategy", "exactly"]
