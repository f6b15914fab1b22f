"""What a sink promises, and what a kind of sink is.

Idea. A trigger hands the result rows of a query to a sink, in order and at least once. After a crash or a failure it sends
again what may not have arrived; a row that comes again has the same id, so that the receiver, or the sink itself, can tell.
`millpond.testing.check_sink` checks the promises. A `SinkKind` is what SQL knows a sink by; it is registered in `registry`.

Invariants
 1. When `flush` has returned, all rows sent before have arrived.
 2. Rows arrive in the order in which they were sent.
 3. A failure is raised, never swallowed: the trigger then opens the sink anew and sends again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from millpond.extensions import Option

Event = dict[str, Any]
"""A result row: "id", "query", "instant" and the columns."""


class SinkFailed(Exception):
    """A row did not arrive, in words for SHOW TRIGGERS. Any other exception is shown with its type."""


class Sink(Protocol):
    """A sink at work for one trigger. All methods are called by one thread, the trigger's."""

    batch: int
    """How many rows may be sent before `flush`. One, unless the sink gains from more: it is also how many are sent again
    when one of them fails."""

    def send(self, event: Event) -> None:
        """Hand on one row. It may wait for the receiver, or leave that to `flush`. It may not keep or change the event."""

    def flush(self) -> None:
        """Return when all rows sent have arrived. Called after at most `batch` rows."""

    def close(self) -> None:
        """Let go of connections and threads. Called after a failure and at the end; a second call does nothing."""


class SinkKind(ABC):
    """A kind of sink: `ON <query> DO <name> '<target>' [WITH (<option> = ...)]`.

    A kind that reaches outside the pond is `privileged`: a server can refuse it.
    """

    name: ClassVar[str]
    target: ClassVar[str]
    """What the text after the name is, such as "an address"."""
    options: ClassVar[tuple[Option, ...]] = ()
    done: ClassVar[str] = "given to"
    """What is done with a row, in the past, before the target."""
    privileged: ClassVar[bool] = True

    @abstractmethod
    def check(self, target: str, options: Mapping[str, Any]) -> None:
        """Raise `CatalogError` if the definition cannot work. Called when the trigger is created."""

    @abstractmethod
    def open(self, target: str, options: Mapping[str, Any]) -> Sink:
        """A new sink. `options` are the values of all options. Called by the trigger's thread, again after each failure."""
