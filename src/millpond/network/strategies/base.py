"""The contract of a strategy: one way of evaluating a continuous query.

    match(prepared)                 does this way fit the query? a strategy, or the reason why not
    open(context, progress, held)   take up the query where it stands: state is filled from history
    due()                           between which times there are instants to evaluate now
    ready()                         whether a step would find anything to do for it although nothing came
    begin(time)                     the first rows ever: begin with empty state
    advance(begin, frontier)        evaluate all instants in [begin, frontier): the rows sent
    skip(progress)                  take in rows whose instants another process evaluated
    needs(use)                      what it will still look at in a stream
    state(), checkpoints()          what it holds, and what of it is worth a checkpoint
    cost                            what it has cost so far
    close()                         the query was dropped

Who calls. The evaluator, and nobody else, from its one thread; strategies are not thread safe. `match` is also called to place
a query and to explain it; a strategy that was matched and never opened holds nothing and need not be closed.

When. `match` at CREATE, at EXPLAIN and when an evaluator takes the query up, thus rarely: it may take milliseconds. `open` once,
before all others. Then in every step, in an order in which a query follows those it reads: `due`, and if that is not None
`begin` (once in the life of a query) and `advance`; at the end of the step `needs` for each stream. A step without anything to do
costs a query `due` and `needs` alone, and a process may have thousands of queries, so both take a microsecond. `skip` takes the
place of `advance` in a worker that missed steps. `state` and `checkpoints` are called after steps.

What it promises.
- Strategies differ in cost, not in results (those of approximate and correlated aggregates differ within the error that the query
  allows). `match` proves from the text that a query fits; what is not proved is refused.
- What is sent at an instant depends on the rows up to that instant alone: not on how rows are cut into steps, nor on whether
  state was kept, filled from history, or restored from a checkpoint.
- ISTREAM and DSTREAM send the difference to the result that was sent last. Where a query was altered or paused, or its history
  changed after that, the result is given to `open` (`held`), and only a strategy that can take it is chosen. A strategy that is
  given none goes on from the result at `progress.last`, as history tells it.
- After `advance` its progress stands at `frontier`. If an instant fails with an error of the user's data, what was due before is
  sent, `error` says why, and its progress stands at that instant; `for_spark` says whether Spark is to decide about that value,
  and the query goes on there. If another system cannot be reached, it is the same, but `waiting` says why and the instant is due
  again in the next step. Any other exception is a bug; the evaluator handles it. A strategy whose answers come from elsewhere may
  leave its progress where it has answers up to; it is `ready` when more come. One that is asked instant by instant leaves to the
  next step those for which this one has no time (`left`).

What it may not do. Change inlets, or read from them what it did not announce in `needs` at the end of the last step. Ask the
clock. Start threads. Keep references to what `Context` shares for one step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa

from millpond.catalog import StreamingTable
from millpond.errors import MillpondError, Unreachable
from millpond.event_time import NEVER, Progress
from millpond.network.engine.engine import ForSpark
from millpond.network.plan.prepared import Prepared, moved_to_spark
from millpond.network.state.checkpoints import Keepable
from millpond.network.strategies.parts.context import Context
from millpond.network.time.inlet import Inlet
from millpond.network.time.instants import arrivals, slides
from millpond.query.binding.uses import Use
from millpond.query.clauses import Refusal
from millpond.query.data_errors import surely_met


@dataclass(slots=True)
class Cost:
    """What a query has cost since its process took it up.

    `evaluations` counts how often its result was computed: once for each instant, or for each run of instants that are taken
    together. `rows_in` are the rows that were looked at for that, one in the windows of two instants twice. Where queries are
    batched, `seconds` are counted for the first of them.
    """

    evaluations: int = 0
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0


Costs = dict[str, tuple[str, int, int, int, float]]
"""By query: how it is evaluated, and the members of `Cost` in their order. Plain tuples: shards send one for each query at each
tick, and to pickle an object takes ten times as long."""


@dataclass(frozen=True)
class Held:
    """Something that a strategy holds. Several strategies may hold the same `thing`; it is counted once."""

    description: str
    thing: Any
    size: Callable[[], tuple[int, int]]
    """Its rows and bytes; counting them takes time."""


@dataclass(frozen=True)
class Checkpoint:
    """State that is worth writing down. States of a stream with the same `fingerprint` hold the same at the same time."""

    stream: str
    fingerprint: str
    upto: int
    content: Keepable


def spark_decides(prepared: Prepared, error: MillpondError) -> bool:
    """Whether a query that met an error on DuckDB is to go on, at the same instant, on Spark."""
    if not isinstance(error, ForSpark) or (not error.differs and surely_met(prepared.bound.tree)):
        return False
    return moved_to_spark(prepared, "") is not None


class Strategy(ABC):
    """What most strategies have nothing to do for has an empty body here."""

    name: ClassVar[str]
    """One word, for programs."""
    manner: ClassVar[str]
    """How it evaluates, for EXPLAIN: completes "evaluated ..."."""
    tries_in_step: ClassVar[bool] = True
    """Whether other systems are tried in a step: then a pause follows one in which it waits."""
    takes_held: ClassVar[bool] = False
    """Whether it can send differences to a result that it did not compute."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.progress = Progress()
        self.error: str | None = None  # why it stopped; it is not advanced any more
        self.for_spark = False  # whether it stopped at a value about which Spark is to decide, and can
        self.waiting: str | None = None  # why an instant could not be evaluated in the last step; it is tried again
        self.not_before = 0.0  # set by the evaluator: when the next try is due
        self.left: int | None = None  # the instant with which the next step goes on, if this one had not time for all
        self.cost = Cost()
        self.held: pa.Table | None = None  # what was sent last, where that is not the result at the last instant
        self._inlets: list[Inlet] = []
        # Whether rows of an instant are in none of its windows: then it is due as soon as time is complete up to it.
        self._open_end = all(use.window is not None and use.window.before for use in prepared.streams)

    @classmethod
    @abstractmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        """A strategy for a query if it can be proved from the text that it fits."""

    @abstractmethod
    def local_to(self, table: StreamingTable) -> bool:
        """Whether the result is the union of the results over the shards of the only stream it reads, at every instant. Asked of
        a strategy that need not be open."""

    def remembers(self) -> bool:
        """Whether what it sends at an instant depends on an earlier result. Asked of a strategy that need not be open."""
        return self.prepared.query.stream_operator != "rstream"

    # -- taking up a query -------------------------------------------------------------------------------------------------

    def open(self, context: Context, progress: Progress, held: pa.Table | None = None) -> None:
        """Be ready to go on at `progress`. The inlets of all streams are there."""
        self.context = context
        self.progress = progress
        self.held = held
        self._inlets = [context.inlets[u.table.name] for u in self.prepared.streams]
        self.prepare()
        if progress.frontier is not None:
            self.fill()
        elif self.prepared.query.combines is None:  # the second phase begins when the first does
            for use in self.prepared.streams:
                context.reach_back(use, NEVER)

    def prepare(self) -> None:  # noqa: B027
        """Compute what `match` does not need."""

    @abstractmethod
    def fill(self) -> None:
        """Fill state from history, so that it can go on at its progress; inlets must reach back to what is needed."""

    def begin(self, begin: int) -> None:  # noqa: B027
        """Begin with empty state: the first row of all streams has the time `begin`."""

    def close(self) -> None:  # noqa: B027
        """Give back what is shared."""

    # -- in a step ---------------------------------------------------------------------------------------------------------

    def due(self) -> tuple[int, int] | None:
        """The times between which instants are to be evaluated now, if any: from the first up to, not with, the second."""
        inlets = self._inlets
        frontier = inlets[0].frontier if len(inlets) == 1 else min(i.frontier for i in inlets)
        if self._open_end and frontier != NEVER:
            frontier += 1
        begin = self.progress.frontier
        if frontier == NEVER or (begin is not None and frontier <= begin):
            return None
        if begin is None:
            begin = min((t for i in inlets if (t := i.first_time()) is not None and t < frontier), default=None)
        return None if begin is None else (begin, frontier)

    def ready(self) -> bool:
        """Whether there is something to do although nothing came: it began in the past."""
        return self.due() is not None

    @abstractmethod
    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        """Evaluate all instants in [begin, frontier), and move progress there. The rows that are sent, stamped with their
        instants and in their order."""

    def _instants(self, begin: int, frontier: int) -> range | list[int]:
        """The instants of the query in [begin, frontier)."""
        slide = self.prepared.slide
        if slide is not None:
            return slides(begin, frontier, slide, self.prepared.offset)
        return arrivals([times for inlet in self._inlets for times in inlet.times()], begin, frontier)

    def _send_each(
        self, instants: Iterable[int], frontier: int, send: Callable[[int], pa.Table | None]
    ) -> tuple[pa.Table | None, int]:
        """What is sent at these instants, one after the other, and `frontier`. If one fails, or is left to the next step: what is
        sent before it, and that instant; of a failure `error` or `waiting` says why."""
        sent = []
        for instant in self._in_time(instants):
            try:
                part = send(instant)
            except Unreachable as error:
                self.waiting, frontier = str(error), instant
                break
            except MillpondError as error:
                self.fail(error)
                frontier = instant
                break
            if part is not None:
                sent.append(part)
        return pa.concat_tables(sent) if sent else None, frontier if self.left is None else self.left

    def _in_time(self, instants: Iterable[int]) -> Iterator[int]:
        """These instants, as many as the step has time for: at least one. `left` is the first of the others."""
        self.left = None
        for number, instant in enumerate(instants):
            if number and self.context.time_is_over(self.prepared.query.users_name):
                self.left = instant
                return
            yield instant

    def fail(self, error: MillpondError) -> None:
        """It stops at the instant at which its progress stands."""
        self.error = str(error)
        self.for_spark = spark_decides(self.prepared, error)

    def skip(self, progress: Progress) -> None:
        """Take in the rows up to `progress`, where another process evaluated them."""
        if progress.frontier is None or progress.frontier == self.progress.frontier:
            return
        begin = self.progress.frontier
        if begin is None:
            begin = min((t for i in self._inlets if (t := i.first_time()) is not None), default=progress.frontier)
            begin = min(begin, progress.frontier)
            self.begin(begin)
        self.take_in(begin, progress)
        self.progress = progress

    def take_in(self, begin: int, progress: Progress) -> None:  # noqa: B027
        """Change state as `advance` from `begin` to `progress` would."""

    def needs(self, use: Use) -> tuple[int, int]:
        """The earliest time of a stream that it will still look at, and how many rows before that."""
        frontier = self.progress.frontier
        return (NEVER, 0) if frontier is None else (frontier, 0)

    # -- what it holds -----------------------------------------------------------------------------------------------------

    def state(self) -> Iterator[Held]:
        """What it holds besides rows in inlets."""
        return iter(())

    def checkpoints(self) -> Iterator[Checkpoint]:
        """What would take long to fill from history."""
        return iter(())

    @property
    def last_result(self) -> pa.Table | None:
        """The result at the last instant, where differences to it are sent."""
        return None
