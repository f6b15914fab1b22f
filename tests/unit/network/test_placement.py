"""What is said to be local to the shards is: shard by shard and united, the results are those of the whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as some

from millpond.catalog import Catalog, StreamingTable
from millpond.errors import SqlError
from millpond.ingest.shards import shard_numbers
from millpond.network.plan.prepared import Prepared
from millpond.network.run.placement import shard_table
from millpond.schema import Schema
from tests.unit.network.naive import Row, answer, prepared, relation, window

SHARDS = 4
P = StreamingTable(
    "p",
    Schema.of([("vid", "INT"), ("seg", "INT"), ("spd", "INT"), ("t", "BIGINT")]),
    "t",
    "p",
    shards=SHARDS,
    shard_by=("vid",),
)
CATALOG = Catalog(streaming={"p": P})
LAST = 8

WINDOWS = ["NOW", "INTERVAL 2", "INTERVAL 5", "vid ROWS 1", "vid ROWS 2", "vid, seg ROWS 1", "vid ROWS 3 WITHIN INTERVAL 4",
           "ROWS 3", "seg ROWS 2", "seg ROWS 1 WITHIN INTERVAL 4"]  # fmt: skip
ITEMS = ["vid, spd", "spd", "vid, seg, spd, t", "DISTINCT spd", "DISTINCT vid, spd", "spd + 1 AS faster, vid"]
GROUPED = ["vid", "vid", "vid", "vid, seg", "vid, seg", "seg", ""]
AGGREGATES = [
    "COUNT(*) AS n",
    "SUM(spd) AS s",
    "MAX(spd) AS m, COUNT(spd) AS n",
    "AVG(spd) AS a",
    "COUNT(DISTINCT spd) AS d",
]
CONDITIONS = ["", " WHERE spd > 3", " WHERE seg = 1", " WHERE spd IS NULL OR vid < 2"]
HAVING = ["", "", " HAVING COUNT(*) > 1"]


@some.composite
def selects(draw: some.DrawFn) -> str:
    form = draw(some.sampled_from(["", "ISTREAM ", "DSTREAM "]))
    where = draw(some.sampled_from(CONDITIONS))
    source = f"p [{draw(some.sampled_from(WINDOWS))}]"
    # DSTREAM at arrivals is about rows that leave between them, which the simple evaluation knows nothing of.
    slides = ["INTERVAL 1", "INTERVAL 2"] if form == "DSTREAM " else ["INTERVAL 2", "REALTIME"]
    sample = f" SAMPLE {draw(some.sampled_from(slides))}"
    if draw(some.booleans()):
        return f"SELECT {form}{draw(some.sampled_from(ITEMS))} FROM {source}{where}{sample}"
    keys = draw(some.sampled_from(GROUPED))
    shown = draw(some.sampled_from([keys, keys, keys, ""]))
    items = ", ".join(filter(None, [shown, draw(some.sampled_from(AGGREGATES))]))
    group = f" GROUP BY {keys}{draw(some.sampled_from(HAVING))}" if keys else ""
    return f"SELECT {form}{items} FROM {source}{where}{group}{sample}"


ROWS = some.lists(
    some.tuples(
        some.integers(0, 5), some.integers(0, 2), some.one_of(some.none(), some.integers(0, 6)), some.integers(1, LAST)
    ),
    max_size=14,
).map(lambda rows: sorted(rows, key=lambda row: row[-1]))


def by_shard(rows: list[Row], query: Prepared) -> list[list[Row]]:
    if not rows:
        return [[] for _ in range(SHARDS)]
    [batch] = relation(query.streams[0], rows).combine_chunks().to_batches()
    numbers = shard_numbers(batch, P.shard_by, SHARDS)
    return [[rows[i] for i in np.flatnonzero(numbers == shard)] for shard in range(SHARDS)]


def evaluated(query: Prepared, rows: list[Row]) -> Counter[Row]:
    """The results of all instants over these rows alone; each row ends with its instant."""
    [use] = query.streams
    slide = query.slide
    instants = sorted({row[-1] for row in rows}) if slide is None else list(range(slide, LAST + 1, slide))
    found: Counter[Row] = Counter()
    # Before the first row the whole has no rows either: what an empty window answers is not new.
    before = answer(query, {use.name: relation(use, [])})
    for instant in instants:
        here = answer(query, {use.name: relation(use, window(use, rows, instant))})
        change = {"rstream": here, "istream": here - before, "dstream": before - here}[query.query.stream_operator]
        found.update({(*row, instant): count for row, count in change.items()})
        before = here
    return found


@settings(max_examples=120, deadline=None)
@given(selects(), ROWS)
def test_the_results_of_the_shards_are_those_of_the_whole(select: str, rows: list[Row]) -> None:
    try:
        query = prepared(select, CATALOG)
    except SqlError:
        assume(False)
    local = shard_table(query, CATALOG) is not None
    event("local" if local else "whole")
    if local:
        united: Counter[Row] = sum((evaluated(query, part) for part in by_shard(rows, query)), Counter())
        assert united == evaluated(query, rows), select


@pytest.mark.parametrize(
    "select",
    [
        "SELECT vid, spd FROM p [NOW] WHERE spd > 3 SAMPLE REALTIME",
        "SELECT ISTREAM vid, spd FROM p [vid ROWS 1] SAMPLE REALTIME",
        "SELECT vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE INTERVAL 2",
        "SELECT vid, seg, MAX(spd) AS m FROM p [vid ROWS 3] GROUP BY vid, seg SAMPLE INTERVAL 2",
        "SELECT ISTREAM vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE INTERVAL 2",
    ],
)
def test_local(select: str) -> None:
    assert shard_table(prepared(select, CATALOG), CATALOG) == P


@pytest.mark.parametrize(
    "select",
    [
        "SELECT seg, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
        "SELECT vid, COUNT(*) AS n FROM p [ROWS 3] GROUP BY vid SAMPLE INTERVAL 2",
        "SELECT vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE REALTIME",
        "SELECT COUNT(*) AS n FROM p [INTERVAL 4] SAMPLE INTERVAL 2",
        "SELECT DISTINCT spd FROM p [INTERVAL 4] SAMPLE INTERVAL 2",
    ],
)
def test_whole(select: str) -> None:
    assert shard_table(prepared(select, CATALOG), CATALOG) is None


@pytest.mark.parametrize("shards", [1, SHARDS])
def test_without_a_shard_key_only_a_single_shard_is_local(shards: int) -> None:
    table = StreamingTable("p", P.columns, "t", "p", shards=shards)
    catalog = Catalog(streaming={"p": table})
    query = prepared("SELECT COUNT(*) AS n FROM p [INTERVAL 4] SAMPLE INTERVAL 2", catalog)
    assert shard_table(query, catalog) == (table if shards == 1 else None)
