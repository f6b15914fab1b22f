"""Ways of evaluating a continuous query, and the choice among them. `base` has the contract.

    rows         each row of the stream for itself: a filter and a projection of what arrives
    neighbours   each row with its neighbours in a partitioned window: what changes at a key depends on that key alone
    newest       the rows of the instant alone, each with its neighbours in a partitioned window
    running      aggregates over a window that only grows; nothing else can be asked of such a window
    approximate  aggregates over a window of time for which the query names an error: synopses instead of rows
    correlated   correlated aggregates since a landmark: buckets instead of rows
    instants     anything: the one-time query over the contents of the windows, at each instant

A new strategy is a module here and an entry in `STRATEGIES`. What strategies are made of is in `parts`.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.network.plan.clauses import Refusal
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.approximate import ApproximateStrategy
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.correlated import CorrelatedStrategy
from millpond.network.strategies.instants import InstantStrategy
from millpond.network.strategies.neighbours import NeighbourStrategy
from millpond.network.strategies.newest import NewestStrategy
from millpond.network.strategies.rows import RowStrategy
from millpond.network.strategies.running import RunningStrategy

STRATEGIES: tuple[type[Strategy], ...] = (
    RowStrategy,
    NeighbourStrategy,
    NewestStrategy,
    RunningStrategy,
    ApproximateStrategy,
    CorrelatedStrategy,
    InstantStrategy,
)
"""In the order in which they are tried. The last one fits every query."""


@dataclass(frozen=True)
class Choice:
    """The first strategy that fits a query, not yet open, and why those before it do not, by their names."""

    strategy: Strategy
    refusals: dict[str, Refusal]


def choose(prepared: Prepared) -> Choice:
    refusals: dict[str, Refusal] = {}
    for kind in STRATEGIES:
        found = kind.match(prepared)
        if not isinstance(found, Refusal):
            return Choice(found, refusals)
        refusals[kind.name] = found
    raise AssertionError("the last strategy fits every query")
