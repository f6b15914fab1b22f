"""The strategies, in the order in which they are tried, and the choice of one for a query."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.approximate import ApproximateStrategy
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.correlated import CorrelatedStrategy
from millpond.network.strategies.each_row import EachRowStrategy
from millpond.network.strategies.hybrid import HybridStrategy
from millpond.network.strategies.instants import InstantStrategy
from millpond.network.strategies.neighbours import NeighbourStrategy
from millpond.network.strategies.newest import NewestStrategy
from millpond.network.strategies.on_spark import SparkStrategy
from millpond.network.strategies.rows import RowStrategy
from millpond.network.strategies.running import RunningStrategy
from millpond.network.strategies.sessions import SessionStrategy
from millpond.query.clauses import Refusal

STRATEGIES: tuple[type[Strategy], ...] = (
    SparkStrategy,
    SessionStrategy,  # no other knows what a session is
    HybridStrategy,  # no other reads history at an instant
    RowStrategy,
    NeighbourStrategy,
    NewestStrategy,
    RunningStrategy,
    ApproximateStrategy,
    CorrelatedStrategy,
    EachRowStrategy,
    InstantStrategy,
)
"""In the order in which they are tried. The first one takes what DuckDB is not proved to answer: the others see none of that. The
last one fits every other query."""


@dataclass(frozen=True)
class Choice:
    """The first strategy that fits a query, not yet open, and why those before it do not, by their names."""

    strategy: Strategy
    refusals: dict[str, Refusal]


def choose(prepared: Prepared, *, held: bool = False) -> Choice:
    """`held`: the query is to go on from a result that is given, not from that at its last instant."""
    refusals: dict[str, Refusal] = {}
    for kind in STRATEGIES:
        found = kind.match(prepared)
        if not isinstance(found, Refusal) and held and found.remembers() and not found.takes_held:
            found = Refusal("what it sends next is told from a result that is given")
        if not isinstance(found, Refusal):
            return Choice(found, refusals)
        refusals[kind.name] = found
    raise AssertionError("the last strategy fits every query")
