"""The steps in which queries run: one for most, two for those that are aggregated in two phases."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.catalog import Catalog, ContinuousQuery
from millpond.network.engine.watch import definition_key


@dataclass(frozen=True)
class Step:
    """A query as it runs: itself, or one of the two steps it was split into. `query` is the one in the catalog."""

    definition: ContinuousQuery
    query: ContinuousQuery

    @property
    def folder(self) -> str:
        return self.definition.folder

    @property
    def key(self) -> str:
        """Names this revision, and never another."""
        return definition_key(self.definition.folder, self.definition.revision)

    @property
    def sends(self) -> bool:
        """Whether what it sends is the result of the query, not that of a first step."""
        return self.definition.name == self.query.name

    def is_current(self, catalog: Catalog) -> bool:
        """Whether the catalog still has the query in this revision, and lets it run."""
        found = catalog.queries.get(self.query.name)
        return (
            found is not None
            and not found.paused
            and (found.folder, found.revision) == (self.query.folder, self.query.revision)
        )
