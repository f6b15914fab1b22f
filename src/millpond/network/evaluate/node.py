"""A query at work: what the evaluator knows and holds of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from millpond.event_time import Progress
from millpond.network.aggregates.holders import Held
from millpond.network.plan.key_lookup import Lookup
from millpond.network.plan.kinds import Kind
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.batching import Question
from millpond.network.windows.keyed_rows import KeyedRows
from millpond.network.windows.neighbours import Neighbours
from millpond.predicate.vector import Filter


@dataclass
class Slots:
    """A partitioned window of one query; it holds the rows up to `upto`."""

    rows: KeyedRows
    upto: int


@dataclass
class Node:
    """A query at work. `shared` is the partitioned window it shares with others of its kind."""

    prepared: Prepared
    progress: Progress
    kind: Kind
    chosen: Filter | None = None  # its WHERE, if it can be read as a predicate
    shared: Neighbours | None = None
    running: Held | None = None  # what it holds instead of rows
    waits: bool = False  # whether rows are taken into it at instants only
    slots: dict[str, Slots] = field(default_factory=dict)
    lookups: dict[str, Lookup] = field(default_factory=dict)  # relations of which only some rows are needed
    fetched: dict[str, tuple[int, pa.Table]] = field(default_factory=dict)  # rows of standard tables, up to an instant
    before: pa.Table | None = None  # its result at the last instant, if it sends differences
    by_time: bool = False  # whether its result over empty windows is the same at all instants of a step
    quiet: bool = False  # whether its result at the last instant had no rows
    question: Question | None = None  # what it asks of the rows of its window, if others may ask the same
    error: str | None = None  # why it stopped
