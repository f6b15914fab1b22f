"""Groups that are held as summaries instead of rows: how they are written down in parts, and how that is begun with again.

A part is some groups at one time: their values, what is known of each as columns, and their summaries as bytes. Parts of one
checkpoint stand at different times, none before `since` (see `checkpoints`). Whoever begins with them takes the rows later
than `since` in once more, of each group only those that its part does not have.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import from_ipc, to_ipc
from millpond.network.aggregates.groups import Groups
from millpond.network.aggregates.shape import Shape

Ints = npt.NDArray[np.int64]

UPTO = "upto"
NEVER = -(1 << 62)
_WORTH = 1 << 20  # rows from which on a checkpoint is worth while


class Part(NamedTuple):
    """Some groups as they were at `upto`: their numbers here, `columns` of them, and `states`."""

    upto: int
    groups: Ints
    columns: list[pa.ChunkedArray]
    states: list[bytes]


class Summarised(ABC):
    """The groups of a query up to `upto`. `fingerprint` names its checkpoints; without one there are none."""

    def __init__(self, shape: Shape[Any], schema: pa.Schema, upto: int, fingerprint: str) -> None:
        self.shape = shape
        self.upto = upto
        self.fingerprint = fingerprint
        self._taken = 0  # rows, of any time
        self._groups = Groups(schema, shape.groups)
        # While it is filled from a checkpoint: from when on rows are missing, and up to when each group has them.
        self._since: int | None = None
        self._stands: Ints | None = None

    @property
    def rows(self) -> int:
        return self._groups.size

    @property
    @abstractmethod
    def bytes(self) -> int:
        """What it takes in memory."""

    @abstractmethod
    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows, which come after all that were brought in."""

    @abstractmethod
    def content(self) -> pa.Table:
        """All groups with rows in the window, as they are at `upto`."""

    @property
    @abstractmethod
    def begin(self) -> int:
        """Where the window at `upto` begins."""

    @property
    def first_missing(self) -> int:
        """From when on rows have to be brought in to fill it; up to `upto`."""
        return self.begin if self._since is None else max(self.begin, self._since + 1)

    @property
    def is_large(self) -> bool:
        """Whether filling it from history would take long."""
        return self._taken >= _WORTH

    @property
    @abstractmethod
    def states(self) -> int:
        """How many summaries a group has."""

    @property
    def schema(self) -> pa.Schema:
        """Of its parts."""
        states = [(f"state{i}", pa.large_binary()) for i in range(self.states)]
        return pa.schema([(UPTO, pa.int64()), ("rows", pa.large_binary()), *states])

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers there are by which groups are put into parts."""

    @abstractmethod
    def part(self, begin: int, end: int) -> pa.Table:
        """One row: the groups of these numbers."""

    def restore(self, parts: pa.Table, since: int) -> None:
        """Begin with a checkpoint; rows later than `since` are still to come."""
        self._since, self._stands = since, np.full(self.rows, NEVER)
        self._taken = _WORTH
        for row in parts.sort_by(UPTO).to_pylist():
            kept = from_ipc(row["rows"])
            if not self._is_of_now(row[UPTO]):
                continue
            number = len(self.shape.groups)
            named = kept.select(range(number)).rename_columns(list(self.shape.groups))
            groups = self._groups.find(named, kept.num_rows)
            self._make_room()
            self._stands[groups] = kept.column(number).to_numpy()
            columns = [kept.column(i) for i in range(number + 1, kept.num_columns)]
            self._absorb(Part(row[UPTO], groups, columns, [row[f"state{i}"] for i in range(self.states)]))

    def filled(self) -> None:
        """All rows up to `upto` are in."""
        self._since = self._stands = None

    def _is_of_now(self, upto: int) -> bool:
        """Whether what was held at `upto` still counts."""
        return True

    @abstractmethod
    def _absorb(self, part: Part) -> None:
        """Take groups as they were. Of one that is in two parts the later one, which comes later, is right."""

    def _make_room(self) -> None:
        """A place for each new group."""
        if self._stands is not None:
            self._stands = np.concatenate([self._stands, np.full(self.rows - len(self._stands), NEVER)])

    def _missing(self, groups: Ints, moments: Ints) -> npt.NDArray[np.bool_] | None:
        """Which of some rows are not in; None if none is."""
        return None if self._stands is None else moments > self._stands[groups]

    def _packed(self, groups: Ints, columns: Sequence[pa.Array], states: Sequence[builtins.bytes]) -> pa.Table:
        """A part, as a row."""
        values = [self._groups.column(name, groups) for name in self.shape.groups]
        arrays = [*values, pa.array(np.full(len(groups), self.upto)), *columns]
        table = pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
        row = [[self.upto], [to_ipc(table)], *([state] for state in states)]
        cells = [pa.array(value, field.type) for value, field in zip(row, self.schema, strict=True)]
        return pa.Table.from_arrays(cells, schema=self.schema)
