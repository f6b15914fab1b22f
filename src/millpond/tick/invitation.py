"""What a worker is told so that it can connect. It goes to workers inside of what Spark keeps to itself, never as an option."""

from __future__ import annotations

from dataclasses import dataclass, field

SERVED = ("tasks", "rows", "results", "seconds")
"""What a shift tells of itself, beside the ticks of each worker; the sums are in the progress of the streaming query."""


@dataclass(frozen=True)
class Invitation:
    """Where to connect, and the secret of the run, which has a `name`; a shift takes so many `seconds` and has as many tasks as
    `slots`."""

    name: str
    host: str
    port: int
    secret: bytes = field(repr=False)
    seconds: float
    slots: int
