"""The graph of queries, against the simplest ways to say the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.network.plan.graph import bases, in_order
from millpond.schema import Schema

COLUMNS = Schema.of([("a", "INT"), ("t", "BIGINT")])
TABLES = {name: StreamingTable(name, COLUMNS, "t", name, shards=1) for name in ("x", "y", "z")}


@some.composite
def catalogs(draw: some.DrawFn) -> Catalog:
    """Queries that read tables (a standard one too) and queries made before them, in the order of some dictionary."""
    made: list[ContinuousQuery] = []
    for number in range(draw(some.integers(0, 7))):
        readable = [*TABLES, "standard", *(q.name for q in made)]
        reads = draw(some.lists(some.sampled_from(readable), min_size=1, max_size=3, unique=True))
        made.append(ContinuousQuery(f"q{number}", "", "rstream", None, COLUMNS, f"q{number}", tuple(reads)))
    return Catalog(streaming=TABLES, queries={q.name: q for q in draw(some.permutations(made))})


@given(catalogs())
def test_each_query_comes_once_and_after_those_it_reads(catalog: Catalog) -> None:
    names = [q.name for q in in_order(catalog.queries)]
    assert sorted(names) == sorted(catalog.queries)
    for query in catalog.queries.values():
        for read in query.reads:
            if read in catalog.queries:
                assert names.index(read) < names.index(query.name)


@given(catalogs())
def test_queries_that_read_no_other_keep_their_order(catalog: Catalog) -> None:
    alone = [q for q in catalog.queries.values() if not set(q.reads) & set(catalog.queries)]
    assert in_order({q.name: q for q in alone}) == alone


@given(catalogs())
def test_bases_are_the_tables_that_can_be_reached(catalog: Catalog) -> None:
    reached = {name: {name} for name in TABLES}
    for _ in catalog.queries:  # as often as the longest path is long
        for query in catalog.queries.values():
            reached[query.name] = set().union(*(reached.get(read, set()) for read in query.reads))
    for name in (*TABLES, *catalog.queries):
        assert bases(name.upper(), catalog) == reached[name]
    assert bases("standard", catalog) == frozenset()
