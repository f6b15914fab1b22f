"""The parts of millpond that match rows with queries and keep the matches, by themselves: no pond, no tick, one thread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.psoup import workload
from benchmarks.psoup.workload import Columns, Query
from millpond.arrow import schema_of
from millpond.predicate import vector
from millpond.predicate.form import Compare, Predicate, all_of
from millpond.standing import work
from millpond.standing.index import Matches, PredicateIndex


class Batch(work.Batch):
    """Rows as an index takes them."""

    @property
    def columns(self) -> vector.Columns:
        return vector.Columns(self)


def batches(rows: Columns, size: int) -> list[Batch]:
    """All of the same size; what is left over is left out."""
    table = workload.table(rows)
    return [Batch(table.slice(start, size)) for start in range(0, table.num_rows - size + 1, size)]


def predicate(query: Query) -> Predicate:
    parts: list[Predicate] = []
    for factor in query:
        if factor.column == workload.KEY:
            parts.append(Compare(factor.column, "=", workload.name(factor.low)))
        elif factor.low == factor.high:
            parts.append(Compare(factor.column, "=", factor.low))
        else:
            parts += [Compare(factor.column, ">=", factor.low), Compare(factor.column, "<=", factor.high)]
    return all_of(parts)


def index(rows: Columns, queries: Sequence[Query]) -> PredicateIndex:
    """Queries are numbered from 0."""
    made = PredicateIndex(schema_of(workload.table({c: v[:1] for c, v in rows.items()}).schema))
    made.add(enumerate(map(predicate, queries)))
    return made


def judged(found: Matches) -> tuple[int, int]:
    """As `workload.judged` of the rows of one batch."""
    entries, places = found.pairs()
    products = (entries.astype(np.uint64) + np.uint64(1)) * (places.astype(np.uint64) + np.uint64(1))
    return len(entries), int(products.sum())


def count(found: Matches) -> int:
    return len(found.places) + sum(int(np.bitwise_count(b.bits).sum(dtype=np.int64)) for b in found.dense)
