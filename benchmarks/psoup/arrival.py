"""Figure 9: how fast rows can arrive: queries indexed or tried one by one, windows applied when asked or with each batch.

Rows arrive in batches as large as the window, 1,000 rows. `shared` probes the index of predicates, `unshared` evaluates one
predicate after the other over the batch, vectorised. P keeps matches as they are found; C also keeps for each query the rows of
its window, and takes out those that have left it. Beside these parts by themselves stands the pond: append, and a tick that
matches and keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, rounded
from benchmarks.psoup import pure, workload
from benchmarks.psoup.api import Feeder, create, newest, register_all
from benchmarks.psoup.measuring import per_second
from benchmarks.psoup.workload import Query
from millpond.pond import Pond
from millpond.standing.index import Matches
from millpond.standing.kept.matches import MatchRuns

WINDOW = 1000


def run(options: Options, report: Report, db: Pond) -> list[dict[str, Any]]:
    random = np.random.default_rng(9)
    seconds = options.size(2, 0)
    found = []
    rows = workload.rows(random, 20 * WINDOW)
    for power in range(7, options.size(13, 9)):
        queries = workload.intervals(random, 2**power)
        row: dict[str, Any] = {"queries": len(queries)}
        for name, make in (("shared", _shared), ("unshared", _unshared)):
            for mode, keep in (("P", Partial), ("C", Complete)):
                kept = keep(queries)
                _check(make(queries, rows), keep(queries), queries, rows)
                row[f"{mode} {name}, rows/s"] = rounded(per_second(_stepping(make(queries, rows), kept), seconds))
        for mode, name in (("partial", "P"), ("complete", "C")):
            row[f"{name} in the pond, rows/s"] = rounded(_in_pond(db, queries, rows, mode, seconds))
        found.append(row)
        report.say(f"Figure 9: {len(queries)} queries")
    return found


Match = Callable[[pure.Batch], Matches]
Step = tuple[Match, list[pure.Batch]]


def _shared(queries: list[Query], rows: workload.Columns) -> Step:
    index = pure.index(rows, queries)
    return (lambda batch: index.match(batch.columns)), pure.batches(rows, WINDOW)


def _unshared(queries: list[Query], rows: workload.Columns) -> Step:
    def match(batch: pure.Batch) -> Matches:
        columns = {c: batch.column(c).to_numpy() for c in rows}
        places = [np.flatnonzero(workload.mask(query, columns)).astype(np.int32) for query in queries]
        entries = np.repeat(np.arange(len(queries), dtype=np.int32), [len(p) for p in places])
        return Matches(batch.size, entries, np.concatenate(places))

    return match, pure.batches(rows, WINDOW)


class Partial:
    """Matches, in runs. Those of rows before the window are forgotten now and then."""

    def __init__(self, queries: list[Query]) -> None:
        self.runs = MatchRuns()
        self._queries = len(queries)

    def take(self, first: int, found: Matches) -> None:
        seqs = np.arange(first, first + found.rows)
        self.runs.append(seqs, found.entries, found.places)
        for block in found.dense:
            self.runs.append(seqs[block.places], found.entries[:0], found.places[:0], [block])
        if first % (16 * WINDOW) == 0:
            self.runs.forget_before(first + found.rows - WINDOW)

    def results(self, end: int) -> Iterator[workload.Array]:
        return (self.runs.snapshot.of(q, max(0, end - WINDOW), end) for q in range(self._queries))


class Complete(Partial):
    """The rows of each query's window as well: what has left it is taken out, what is new is added, batch by batch."""

    def __init__(self, queries: list[Query]) -> None:
        super().__init__(queries)
        self.kept = [np.zeros(0, dtype=np.int64) for _ in queries]

    def take(self, first: int, found: Matches) -> None:
        super().take(first, found)
        end = first + found.rows
        begin = end - WINDOW
        for query, old in enumerate(self.kept):
            new = self.runs.snapshot.of(query, first, end)
            self.kept[query] = np.concatenate([old[np.searchsorted(old, begin) :], new])

    def results(self, end: int) -> Iterator[workload.Array]:
        return iter(self.kept)


def _stepping(step: Step, kept: Partial) -> Callable[[], int]:
    match, given = step
    numbers = count()

    def one() -> int:
        number = next(numbers)
        batch = given[number % len(given)]
        kept.take(number * WINDOW, match(batch))
        return batch.size

    return one


def _check(step: Step, kept: Partial, queries: list[Query], rows: workload.Columns) -> None:
    """After three batches each query has the rows of its window."""
    match, given = step
    for number in range(3):
        kept.take(number * WINDOW, match(given[number]))
    recent = {c: v[2 * WINDOW : 3 * WINDOW] for c, v in rows.items()}
    for query, got in zip(queries, kept.results(3 * WINDOW), strict=True):
        expected = np.flatnonzero(workload.mask(query, recent)) + 2 * WINDOW
        assert np.array_equal(got, expected), f"{query}: rows {got}, not {expected}"


def _in_pond(db: Pond, queries: list[Query], rows: workload.Columns, mode: str, seconds: float) -> float:
    table = f"fig9_{mode}_{len(queries)}"
    create(db, table)
    handles = register_all(db, table, queries, newest(WINDOW), keep=mode)
    feeder = Feeder(db, table)
    given = [{c: v[s : s + WINDOW] for c, v in rows.items()} for s in range(0, len(rows["a"]), WINDOW)]
    numbers = count()
    last = given[0]

    def one() -> int:
        nonlocal last
        last = given[next(numbers) % len(given)]
        feeder.append(last)
        db.tick()
        return WINDOW

    rate = per_second(one, seconds)
    for handle, query in list(zip(handles, queries, strict=True))[:: max(1, len(queries) // 32)]:
        expected = int(workload.mask(query, last).sum())
        got = handle.invoke().arrow().num_rows
        assert got == expected, f"{mode}, {query}: {got} rows, not {expected}"
    db.drop_many(handles)
    db.sql(f"DROP TABLE {table}")
    return rate
