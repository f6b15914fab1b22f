"""The steps in which queries run: one for most, two for those that are aggregated in two phases."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.errors import CatalogError
from millpond.network.engine.watch import definition_key
from millpond.network.plan.prepared import Prepared


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


def holds_other_rows(before: Catalog, after: Catalog) -> bool:
    """Whether windows do not hold what they should any more: rows of a table or of a query that is in both catalogs have other
    columns, or a stream that is read keeps its rows longer, or less long."""
    tables = [{t.folder: t.columns for t in catalog.streaming.values()} for catalog in (before, after)]
    queries = [{q.folder: q.columns for q in catalog.queries.values()} for catalog in (before, after)]
    both = queries[0].keys() & queries[1].keys()
    if tables[0] != tables[1] or any(queries[0][folder] != queries[1][folder] for folder in both):
        return True
    kept = {t.folder: t.history for t in before.streaming.values()}
    kept |= {q.folder: q.history for q in before.queries.values()}
    read = [after.relation(name) for name in {name for query in after.queries.values() for name in query.reads}]
    return any(isinstance(t, StreamingTable) and kept.get(t.folder, t.history) != t.history for t in read)


def chosen_start(prepared: Prepared, frontier: int) -> int | None:
    """The time at which a query was told to begin, if it was; an error if that is after the time its streams have reached."""
    start = prepared.query.start
    if start is not None and start > frontier:
        table = prepared.streams[0].table
        assert isinstance(table, StreamingTable)
        raise CatalogError(
            f'query "{prepared.name}" cannot begin at {table.shown(start)}: time stands at {table.shown(frontier)}',
            hint="Leave out FROM to begin now.",
        )
    return start


def new_run() -> str:
    """A name for what the network has in memory, from one start over to the next."""
    return uuid.uuid4().hex[:12]
