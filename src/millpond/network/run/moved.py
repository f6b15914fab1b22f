"""Queries that met a value about which Spark decides, and go on there from that instant.

Where a query is evaluated does not show in its results, so this is not durable: after a restart it begins on DuckDB again, and
moves again if it meets such a value. An altered query is another one.
"""

from __future__ import annotations

from millpond.catalog import Catalog, ContinuousQuery
from millpond.network.engine.watch import definition_key
from millpond.network.plan.prepared import Prepared, moved_to_spark, prepare


class MovedQueries:
    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}  # by the query in one revision

    def note(self, query: ContinuousQuery, reason: str) -> None:
        self._reasons[definition_key(query.folder, query.revision)] = reason

    def prepare(self, query: ContinuousQuery, catalog: Catalog) -> Prepared:
        """A query as it is evaluated."""
        prepared = prepare(query, catalog)
        reason = self._reasons.get(definition_key(query.folder, query.revision))
        return prepared if reason is None else moved_to_spark(prepared, reason) or prepared
