"""A relation that is looked up by key: the rows found are enough for the result of the whole relation."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as some

from millpond.catalog import Catalog, StandardTable, StreamingTable
from millpond.network.plan.key_lookup import Lookup, lookups
from millpond.predicate.vector import Columns
from millpond.query.binding.uses import Use
from millpond.schema import Schema
from tests.unit.network.naive import Row, answer, prepared, relation, window

R = StreamingTable(
    "r", Schema.of([("qid", "INT"), ("vid", "INT"), ("name", "STRING"), ("t", "BIGINT")]), "t", "r", shards=1
)
B = StreamingTable(
    "b", Schema.of([("vid", "BIGINT"), ("seg", "INT"), ("toll", "INT"), ("t", "BIGINT")]), "t", "b", shards=1
)
S = StandardTable("s", Schema.of([("vid", "INT"), ("name", "STRING"), ("w", "DOUBLE")]), "s")
CATALOG = Catalog(streaming={"r": R, "b": B}, standard={"s": S})
NOW = 6

JOINS = ["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "RIGHT JOIN", "FULL JOIN"]
LARGE = {  # relations that may be looked up, and conditions that may lead to their rows
    "b [vid ROWS 1]": ["x.vid = r.vid", "r.vid = x.vid AND x.toll > 2", "x.vid = r.vid OR x.toll = 1", "x.vid > r.vid",
                       "x.vid = r.vid + 1", "x.seg = r.vid", "(x.vid = r.vid) AND r.qid < 3"],
    "b [vid, seg ROWS 2]": ["x.vid = r.vid", "x.vid = r.vid AND x.seg = r.qid", "x.seg = r.qid AND r.vid = x.vid"],
    "s": ["x.vid = r.vid", "x.name = r.name AND x.vid = r.vid", "x.w = r.vid", "NOT x.vid = r.vid", "x.name = r.name"],
}  # fmt: skip
CONDITIONS = [
    "",
    " WHERE r.qid > 2",
    " WHERE r.name = 'a' OR r.qid IS NULL",
    " WHERE x.vid IS NULL",
    " WHERE r.qid = x.vid",
]

small = some.one_of(some.none(), some.integers(0, 4))
names = some.sampled_from(["a", "b", None])
times = some.integers(1, NOW)
IN_ORDER = {
    "r": some.lists(some.tuples(small, small, names, some.sampled_from([NOW, NOW, 1])), max_size=6),
    "b": some.lists(some.tuples(small, small, small, times), max_size=10),
    "s": some.lists(some.tuples(small, names, some.sampled_from([0.0, 1.0, 2.5, None])), max_size=8),
}


@some.composite
def selects(draw: some.DrawFn) -> str:
    large = draw(some.sampled_from(sorted(LARGE)))
    join = draw(some.sampled_from([*JOINS, "JOIN", "LEFT JOIN"]))
    on = draw(some.sampled_from(LARGE[large]))
    only_left = join in ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
    where = draw(some.sampled_from([c for c in CONDITIONS if not (only_left and "x." in c)]))
    shown = "r.qid, r.vid" if only_left else "r.qid, r.name, x.*"
    return f"SELECT {shown} FROM r [NOW] {join} {large} AS x ON {on}{where} SAMPLE INTERVAL 1"


class _View:
    def __init__(self, rows: pa.Table) -> None:
        self.size = rows.num_rows
        self.column = rows.column


def looked_up(use: Use, lookup: Lookup, rows: pa.Table, by: pa.Table) -> pa.Table:
    """The rows of a relation whose key is among those of the rows that matter, one by one."""
    mine: list[dict[str, Any]] = by.to_pylist()
    if lookup.where is not None:
        mine = [row for row, matters in zip(mine, lookup.where(Columns(_View(by))), strict=True) if matters]
    keys = {tuple(row[c] for c in lookup.others) for row in mine}
    kept = [
        row for row in rows.to_pylist() if (key := tuple(row[c] for c in lookup.columns)) in keys and None not in key
    ]
    return pa.Table.from_pylist(kept, schema=rows.schema)


@settings(max_examples=200, deadline=None)
@given(selects(), some.fixed_dictionaries(IN_ORDER))
def test_the_rows_looked_up_are_enough(select: str, given_rows: dict[str, list[Row]]) -> None:
    query = prepared(select, CATALOG)
    found = lookups(query)
    event("looked up" if found else "whole")
    whole: dict[str, pa.Table] = {}
    for use in (*query.streams, *query.standards):
        rows = given_rows[use.table.name]
        if use.window is not None:
            rows = window(use, sorted(rows, key=lambda row: row[-1]), NOW)
        whole[use.name] = relation(use, rows)
    fewer = dict(whole)
    for use in (*query.streams, *query.standards):
        if (lookup := found.get(use.name)) is not None:
            fewer[use.name] = looked_up(use, lookup, whole[use.name], whole[lookup.by.name])
    assert answer(query, fewer) == answer(query, whole), select


def keys(select: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    found = lookups(prepared(f"{select} SAMPLE INTERVAL 1", CATALOG))
    return [(each.columns, each.others) for each in found.values()]


def test_by_the_key_of_a_window() -> None:
    assert keys("SELECT r.qid, b.toll FROM r [NOW] LEFT JOIN b [vid ROWS 1] ON r.vid = b.vid") == [(("vid",), ("vid",))]
    assert keys(
        "SELECT r.qid, b.toll FROM r [NOW] JOIN b [vid, seg ROWS 1] ON b.seg = r.qid AND b.vid = r.vid AND b.toll > 1"
    ) == [(("vid", "seg"), ("vid", "qid"))]


def test_by_any_columns_of_a_standard_table() -> None:
    assert keys("SELECT r.qid, s.w FROM r [NOW] JOIN s ON s.name = r.name") == [(("name",), ("name",))]


@pytest.mark.parametrize(
    "select",
    [
        "SELECT r.qid, b.toll FROM r [NOW] JOIN b [vid, seg ROWS 1] ON b.vid = r.vid",  # a part of the key
        "SELECT r.qid, b.toll FROM r [NOW] RIGHT JOIN b [vid ROWS 1] ON b.vid = r.vid",  # all rows are in the result
        "SELECT r.qid, b.toll FROM r [INTERVAL 5] JOIN b [vid ROWS 1] ON b.vid = r.vid",  # not those of the instant
        "SELECT r.qid, b.toll FROM r [NOW] JOIN b [vid ROWS 1] ON b.vid = r.vid OR b.toll = 1",
        "SELECT r.qid, s.w FROM r [NOW] JOIN s ON s.w = r.vid",  # numbers of unlike types
        "SELECT r.qid FROM r [NOW] JOIN s ON s.vid = r.vid WHERE r.qid IN (SELECT vid FROM s)",
    ],
)
def test_seen_whole(select: str) -> None:
    assert keys(select) == []
