"""The queries of a table's shards as a file, which workers read when its version changes."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from millpond.catalog import Catalog
from millpond.durable import disk_errors


@dataclass(frozen=True)
class ShardDefinitions:
    """The queries that are evaluated in the shards of a table, and the catalog they are defined in."""

    catalog: Catalog
    queries: tuple[str, ...]

    @classmethod
    def read(cls, path: str) -> ShardDefinitions:
        found: ShardDefinitions = pickle.loads(Path(path).read_bytes())
        return found


class DefinitionFiles:
    """Written by the pond's process, one file for each table; the name tells the run and the version."""

    def __init__(self, folder: Path) -> None:
        self.paths: dict[str, Path] = {}  # by table
        self._folder = folder

    def write(self, table: str, name: str, catalog: Catalog, queries: Collection[str]) -> None:
        """Make sure that the file of a table is the one called `name`."""
        path = self._folder / f"{name}.definitions"
        old = self.paths.get(table)
        if path == old:
            return
        temporary = path.with_suffix(".tmp")
        with disk_errors(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(pickle.dumps(ShardDefinitions(catalog.without_functions_here(), tuple(queries))))
            temporary.replace(path)
        if old is not None:
            old.unlink(missing_ok=True)
        self.paths[table] = path

    def close(self) -> None:
        for path in self.paths.values():
            path.unlink(missing_ok=True)
