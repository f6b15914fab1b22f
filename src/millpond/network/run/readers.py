"""How far back the readers of a relation still look, so that retention takes nothing from them.

A query is as far as the slowest stream it reads. Of a faster one it has yet to look at rows, and after a restart it reads them
from history: how long they are kept is counted from where the query stands, not from where the stream does. ISTREAM and DSTREAM
go on from the result at the last instant, which follows from history too. One that has not begun reads everything there is.
"""

from __future__ import annotations

from collections.abc import Callable

from millpond.catalog import Catalog, ContinuousQuery
from millpond.event_time import NEVER, Progress
from millpond.network.run.state import State


class Readers:
    """Who reads which relation, by the catalog that `catalog` gives. From any thread."""

    def __init__(self, catalog: Callable[[], Catalog]) -> None:
        self._catalog = catalog
        self._known: tuple[Catalog, dict[str, list[ContinuousQuery]]] | None = None

    def read_from(self, name: str, state: State) -> int | None:
        """The least time at which a query that reads the relation has yet to be evaluated, or goes on from, if there is one.
        Queries that are paused or have failed do not count: they begin anew."""
        return min((_stands_at(q, state) for q in self._of(name) if q.folder not in state.failed), default=None)

    def _of(self, name: str) -> list[ContinuousQuery]:
        catalog, known = self._catalog(), self._known
        if known is None or known[0] is not catalog:
            found: dict[str, list[ContinuousQuery]] = {}
            for query in catalog.queries.values():
                for read in query.reads if not query.paused else ():
                    found.setdefault(read, []).append(query)
            known = self._known = (catalog, found)
        return known[1].get(name, [])


def _stands_at(query: ContinuousQuery, state: State) -> int:
    progress = state.progress.get(query.folder, Progress())
    if progress.frontier is None:
        return NEVER
    if query.stream_operator == "rstream" or progress.last is None:
        return progress.frontier
    return min(progress.frontier, progress.last)
