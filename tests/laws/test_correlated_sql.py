"""Correlated aggregates in continuous queries: at every instant, and however rows come, the bounds hold the truth.

A pond lives through rows in and out of order, ticks, heartbeats, archiving and restarts, in one shard and in four, beside a list of
the rows. Which groups are sent at which instants is worked out by `naive`, and the numbers by `correlating`.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from millpond.network.aggregates import correlated
from tests.laws.correlating import CALLS, Call
from tests.laws.naive import Query, Select, Source
from tests.laws.running import Event, Running, random_event, random_setting

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))
QUICK = 8  # cases that are tried always
LENGTHS = (1, 5, 12, 40, 500)
EVENTS = ("rows",) * 10 + ("tick",) * 4 + ("advance", "archive", "reopen", "reopen")


def random_rows(random: Random) -> Event:
    """Many rows at once, of few groups and many values, so that buckets fill."""
    largest = random.choice([3, 30, 1000])
    batch = [
        (
            random.choice([0, 0, 0, 0, 1, 2, -1]),
            random.choice([None, 0, 1]),
            random.choice([None, 0, 4]),
            random_x(random, largest),
        )
        for _ in range(random.choice([1, 5, 40]))
    ]
    return ("rows", "r", random.choice([0, 1, 4]), batch)


def random_x(random: Random, largest: int) -> int | None:
    return None if random.random() < 0.1 else random.randint(-3, largest)


class Correlating(Running):
    """Queries of `r` with correlated aggregates of v and g; `exact` are those that are not held in synopses."""

    def ask(self, query: Query, calls: list[Call], *, exact: bool) -> None:
        text = self.words.create(query)
        items = ", ".join(
            f"{call.sql(s, x='v', y='g')} AS c{i}{s}" for i, call in enumerate(calls) for s in ("", "_lower", "_upper")
        )
        assert text.count(" FROM r ") == 1
        text = text.replace(" FROM r ", f", {items} FROM r ")
        self.db.sql(text if exact or query.select.group else text.replace("SELECT COUNT(*) AS n, ", "SELECT "))
        shown = "\n".join(row[0] for row in self.db.sql(f"EXPLAIN CONTINUOUS QUERY {query.name}").rows())
        assert ("synopses" in shown) != exact
        self.judge.add(query)

    def check_numbers(self, query: Query, calls: list[Call], *, exact: bool) -> None:
        length = query.select.sources[0].window[1]  # type: ignore[index]
        width = len(query.select.columns) if exact or query.select.group else 0
        found = self.fetched(query.name)
        course = self.judge.lives[query.name].course
        wanted = [(*row[:width], a.instant) for a in course.answers for row in a.rows]
        assert sorted((*row[:width], row[-1]) for row in map(_plain, found)) == sorted(map(_plain, wanted))
        for row in found:
            instant = row[-1]
            since = [r for r in self.streams["r"].rows if instant // length * length <= r["t"] <= instant]
            mine = [(r["v"], r["g"]) for r in since if not query.select.group or r["k"] == row[0]]
            for i, call in enumerate(calls):
                call.check(row[width + 3 * i :][:3], mine, exact=exact)


def _plain(row: tuple) -> tuple:
    return tuple((v is not None, v or 0) for v in row)


def bounds_hold(seed: int) -> None:
    random = Random(seed)
    grouped, slide, length = random.random() < 0.7, random.choice([None, 1, 3, 10]), random.choice(LENGTHS)
    calls = random.sample(CALLS, 4)
    source = (Source("a", "r", ("landmark", length)),)
    key = ("col", "a", "k")
    near = Select(source, (("k", key),), group=(key,))
    beside = Select(source, ((("k", key),) if grouped else ()) + (("n", ("count*",)),), group=(key,) if grouped else ())
    with pytest.MonkeyPatch.context() as patch, Correlating(random_setting(random), config={"block_rows": 64}) as pond:
        patch.setattr(correlated, "KEPT", random.choice([0, 3, 32]))
        alone = near if grouped else beside
        questions = [(Query("beside", beside, slide=slide), True), (Query("near", alone, slide=slide), False)]
        for query, exact in questions:
            pond.ask(query, calls, exact=exact)
        for _ in range(random.randint(5, 25)):
            kind = random.choice(EVENTS)
            pond.live(random_rows(random) if kind == "rows" else random_event(random, (kind,)))
        pond.finish()
        for query, exact in questions:
            pond.check_numbers(query, calls, exact=exact)


@pytest.mark.parametrize("part", range(4))
def test_bounds_hold(part: int) -> None:
    for seed in range(FIRST + part, FIRST + QUICK, 4):
        bounds_hold(seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(8))
def test_bounds_hold_long(part: int) -> None:
    for seed in range(FIRST + QUICK + part * 100, FIRST + QUICK + (part + 1) * 100):
        bounds_hold(seed)
