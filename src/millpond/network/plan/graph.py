"""The graph of continuous queries: what each reads, and the order in which they are evaluated."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.catalog import Catalog, ContinuousQuery


def bases(name: str, catalog: Catalog) -> frozenset[str]:
    """The streaming tables, results apart, whose rows decide about a stream: their time is its time."""
    query = catalog.queries.get(name.lower())
    if query is None:
        return frozenset({name.lower()} if name.lower() in catalog.streaming else ())
    return frozenset[str]().union(*(bases(r, catalog) for r in query.reads))


def in_order(queries: Mapping[str, ContinuousQuery]) -> list[ContinuousQuery]:
    """Queries such that each comes after those it reads."""
    done: dict[str, ContinuousQuery] = {}

    def visit(query: ContinuousQuery) -> None:
        if query.name in done:
            return
        for name in query.reads:
            if name in queries:
                visit(queries[name])
        done[query.name] = query

    for query in queries.values():
        visit(query)
    return list(done.values())
