"""What a kind of foreign table is: a standard table whose rows live in another system.

Idea. A pond keeps the name, the columns and the address of such a table, and asks the other system for rows each time they are
needed; so a change there is seen by the next query. A `ForeignTableKind` is what SQL knows the system by; it is registered in
`registry`.

Invariants
 1. Rows that are fetched are at least those that fit the bounds; whoever asks filters them again.
 2. Rows that are inserted are there all or none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pyarrow as pa

from millpond.schema import Schema
from millpond.table.store import Bounds


class ForeignTableKind(ABC):
    """A kind of foreign table: `CREATE STANDARD TABLE t FROM <name> '<address>' [TABLE '<table>']`.

    `table` is what the other system calls the table. Methods may be called by any thread, also in a worker of Spark; each call
    opens a connection of its own. What goes wrong in the other system is an `EngineError`: an `Unreachable` if it does not answer
    now and may later, for then continuous queries wait and ask again.
    """

    name: ClassVar[str]
    system: ClassVar[str]
    """What the other system is called, in messages."""

    @abstractmethod
    def describe(self, address: str, table: str) -> Schema:
        """The columns of a table. Called when the standard table is created."""

    @abstractmethod
    def fetch(self, address: str, table: str, columns: Sequence[str], schema: Schema, bounds: Bounds) -> pa.Table:
        """At least the rows that fit `bounds`, with `columns` in that order and the types of `schema`."""

    @abstractmethod
    def insert(self, address: str, table: str, rows: pa.Table) -> int:
        """Append rows, all or none; how many."""
