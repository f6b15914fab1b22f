"""The tables of a pond that are open in this process.

A table is opened when it is first used and closed when it is dropped. The catalog decides what a name means: a table that was
dropped and made anew under the same name is another one, with another folder.

Threads. Any thread may call any method; a lock guards the dictionaries and is held for moments only.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.catalog import Catalog, StandardTable
from millpond.clock import Clock
from millpond.config import Config
from millpond.errors import PondError
from millpond.ingest.intake import Intake
from millpond.table.standard import StandardStore
from millpond.table.stream import StreamTable


class OpenTables:
    """`catalog` gives the current definitions, `writing` tells whether this process writes the pond, and `make_room` is called
    before each append to a streaming table."""

    def __init__(
        self,
        folder: Path,
        config: Config,
        clock: Clock,
        catalog: Callable[[], Catalog],
        writing: Callable[[], bool],
        make_room: Callable[[StreamTable], None],
        arrived: Callable[[], None],
    ) -> None:
        self.lock = threading.RLock()
        self._folder = folder
        self._config = config
        self._clock = clock
        self._catalog = catalog
        self._writing = writing
        self._make_room = make_room
        self._arrived = arrived
        self._streams: dict[str, StreamTable] = {}
        self._intakes: dict[str, Intake] = {}
        self._standards: dict[str, StandardStore] = {}

    def streams(self) -> dict[str, StreamTable]:
        """All streaming tables, opened."""
        with self.lock:
            for name in list(self._catalog().streaming):
                self.stream(name)
            for name in [n for n in self._streams if n not in self._catalog().streaming]:
                self.forget(name)
            return dict(self._streams)

    def stream(self, name: str) -> StreamTable:
        """A streaming table, opened."""
        with self.lock:  # a name looked up before might be another table's by now
            definition = self._catalog().streaming_table(name)
            found = self._streams.get(definition.name)
            if found is None or found.definition.folder != definition.folder:
                if found is not None:
                    found.close()
                found = StreamTable(self._folder, definition, segment_bytes=self._config.segment_bytes)
                if self._writing():
                    found.become_writer()
                self._streams[definition.name] = found
            elif found.definition != definition:
                found.redefine(definition)
            return found

    def intake(self, name: str) -> Intake:
        """Where rows of a streaming table are offered."""
        with self.lock:
            table = self.stream(name)
            found = self._intakes.get(table.definition.name)
            if found is None or found.table is not table:
                found = self._intakes[table.definition.name] = Intake(
                    table, self._clock, self._make_room, self._arrived
                )
            return found

    def standard(self, definition: StandardTable) -> StandardStore:
        """The store of a standard table."""
        with self.lock:
            found = self._standards.get(definition.folder)
            if found is None:
                found = self._standards[definition.folder] = StandardStore(self._folder, definition, self._clock)
            elif definition == self._catalog().standard.get(definition.name):
                found.definition = definition
            return found

    def forget(self, name: str) -> None:
        """Close what belongs to a dropped table. Whoever still appends to it is told."""
        with self.lock:
            table = self._streams.pop(name, None)
            self._intakes.pop(name, None)
            for folder in [f for f, s in self._standards.items() if s.definition.name == name]:
                del self._standards[folder]
        if table is not None:
            table.close()

    @contextmanager
    def renaming(self, name: str, to: str) -> Iterator[None]:
        """While the block makes a catalog current in which the table `name` is called `to`.

        It stays the same table: an append that looked it up by its old name goes on, before or after this.
        """
        with self.lock:
            table = self.stream(name) if name in self._catalog().streaming else None
            with table.lock if table is not None else contextlib.nullcontext():
                yield
                if table is not None:
                    self._streams[to] = self._streams.pop(name)
                    if name in self._intakes:
                        self._intakes[to] = self._intakes.pop(name)
                    table.redefine(self._catalog().streaming[to])

    def become_writer(self) -> None:
        """The catalog was read anew and this process writes from now on: open all tables to write, delete strays."""
        with self.lock:
            for name in list(self._streams):
                if name not in self._catalog().streaming:
                    del self._streams[name]
        for standard in self._standards.values():
            standard.refresh()
        for definition in self._catalog().standard.values():
            if definition.address is None:
                with contextlib.suppress(PondError):  # whoever asks it will be told
                    self.standard(definition).store.delete_strays(self._clock.micros() / 1e6)
        for table in self.streams().values():
            table.become_writer()
            for store in (table.rows, table.rejected):
                store.delete_strays(self._clock.micros() / 1e6)

    def refresh(self) -> None:
        """As a reader, take in what the writer did."""
        for table in self.streams().values():
            table.refresh()
        for standard in self._standards.values():
            standard.refresh()

    @property
    def damaged(self) -> bool:
        """Whether a streaming table that is open is damaged."""
        return any(table.damage is not None for table in self._streams.values())

    def close(self) -> None:
        for table in self._streams.values():
            table.close()
