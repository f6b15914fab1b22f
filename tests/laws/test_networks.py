"""Whatever happens to a network, each query sends at every instant what the naive judge says, and insertions minus deletions are the
result.

A case is a random pond with chains of views, queries of all forms that come one after the other, and a random life: rows with equal
times, rows that are kept for a while only, UPDATE and DELETE of streams, changes of the standard table, ALTER of windows and
slides in the middle of chains, PAUSE and RESUME, restarts, archiving. Some questions are asked in all three forms at once, some at
each row.

All 3,000 cases: `pytest -m slow tests/laws/test_networks.py`. From another seed on: `MILLPOND_SEED=5000 pytest ...`. One alone, told
before it is tried: `python -m tests.laws.test_networks 4711`.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from millpond.network.strategies.parts import context
from tests.laws.naive import Query, Term
from tests.laws.questions import COUNTS, FORMS, LENGTHS, LONG, SLIDES, Asker
from tests.laws.running import EVENTS, STREAMS, Case, Event, Running, hold, random_event, random_setting, random_value

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))
QUICK = 24  # cases that are tried always
PART = 100  # cases of one test of the others
PARTS = 30

ROWS_CHANGE = ("update", "update", "remove", "remove", "insert", "delete")
QUERIES_CHANGE = ("window", "window", "slide", "pause", "resume", "resume")


def make(seed: int) -> Case:
    random = Random(f"network {seed}")
    setting = replace(random_setting(random), history=random.choice([None, None, 20, 30]))
    asker = Asker(random, whole=not setting.timestamps)
    queries, names = network(asker)
    story = [random_event(random, ("insert",)) for _ in range(random.randint(0, 3))]
    late = random.random() < 0.5
    story += [] if late else [("add", name, None) for name in names]
    kinds = ("ordinary",) * 14 + ROWS_CHANGE + QUERIES_CHANGE
    waiting = list(names) if late else []
    for _ in range(random.randint(10, 30)):
        if waiting and random.random() < 0.3:
            story.append(("add", waiting.pop(0), random.choice([None, None, None, 0, 4])))
            continue
        kind = random.choice(kinds)
        if kind == "ordinary":
            story.append(random_event(random, EVENTS))
        elif kind in QUERIES_CHANGE:
            story.append(change(asker, kind, random.choice(queries), queries))
        else:
            story.append(of_rows(random, kind))
    return Case(setting, queries, [*story, *(("add", name, None) for name in waiting)])


def network(asker: Asker) -> tuple[list[Query], list[str]]:
    """Queries, each after those it reads, and the names by which they are added."""
    queries: list[Query] = []
    views: list[Query] = []
    for number in range(asker.pick([0, 1, 1, 2, 2, 3])):
        over = views[-1] if views and asker.chance(8) else None
        select = asker.select(*read(over), as_view=True)
        form = asker.pick(["rstream", "rstream", "istream", "dstream"])
        views.append(Query(f"w{number}", select, form, asker.pick(SLIDES), asker.pick([1, 2, 5, LONG, LONG])))
    queries += views
    names = [view.name for view in views]
    for number in range(asker.random.randint(1, 3)):
        over = asker.pick(views) if views and asker.chance(6) else None
        query = Query("", asker.select(*read(over)), "", asker.pick(SLIDES))
        draw = asker.random.random()
        if over is None and draw < 0.5:
            query = asker.crossing() if draw < 0.35 else asker.filter()
        query = asker.row_by_row(query) if asker.chance(3) else query
        forms = ("istream", "dstream", "rstream") if asker.chance(4) else (asker.pick(FORMS),)
        names.append(f"q{number}")
        for form in forms:
            name = names[-1] if len(forms) == 1 else f"{names[-1]}_{form[0]}"
            queries.append(replace(query, name=name, form=form))
    return queries, names


def read(view: Query | None) -> tuple[str | None, int]:
    """What a query is asked over: a view, and how long that keeps its results."""
    return (None, 0) if view is None else (view.name, view.history or 0)


def change(asker: Asker, kind: str, query: Query, queries: list[Query]) -> Event:
    name = query.name.partition("_")[0]
    if kind == "slide":
        return ("slide", name, asker.pick(SLIDES))
    if kind != "window":
        return (kind, name)
    source = query.select.sources[0]
    history = next((q.history for q in queries if q.name == source.table), None)
    assert source.window is not None
    return ("window", name, other_window(asker, source.window, history))


def other_window(asker: Asker, window: Term, most: int | None) -> Term:
    """Another window of the same kind of rows: PREV must find as many of a key as before."""
    length = asker.pick(LENGTHS) if most is None else min(asker.pick(LENGTHS), most)
    if window[0] == "keyed":
        return ("keyed", window[1], max(window[2], asker.pick(COUNTS)), window[3] and length)
    kind = asker.pick(["interval", "interval", "landmark", "now", *(["rows"] if most is None else [])])
    if kind == "rows":
        return ("rows", asker.pick(COUNTS))
    return ("now",) if kind == "now" else (kind, length) if length else ("interval", 0)


def of_rows(random: Random, kind: str) -> Event:
    if kind in ("insert", "delete"):
        return random_event(random, (kind,))
    column, value = random.choice([("k", 0), ("k", 1), ("g", 1), ("v", 1), ("v", 2), ("id", random.randrange(20))])
    if kind == "remove":
        return ("remove", random.choice(STREAMS), column, value)
    return ("update", random.choice(STREAMS), column, value, random.choice(["g", "v", "v"]), random_value(random))


def answers_hold(case: Case) -> None:
    hurried = len(case.story) % 3 == 0  # a step has time for one instant of a query, and leaves the others to the next
    with patch.object(context, "SLICE", 0.0 if hurried else context.SLICE), Running(case.setting) as pond:
        pond.network = list(case.queries)
        for event in case.story:
            pond.live(event)
            if event[0] == "tick":
                pond.check()  # in the tick in which an instant is complete, not later
        for query in case.queries:  # so that the last instants tell on what paused queries go on from
            pond.live(("resume", query.name))
        pond.finish()
        problems = pond.db.sql("SELECT name, problem FROM millpond.queries WHERE problem IS NOT NULL").rows()
        assert not problems, problems
        pond.check()
        # Not of queries that are asked row by row, if only before an ALTER: results at rows of one time bear the same instant.
        for name in {q.name.partition("_")[0] for q in case.queries if not q.each_row}:
            sums_hold(pond, name)


def sums_hold(pond: Running, name: str) -> None:
    """Insertions minus deletions are the result, at every instant at which something was sent."""
    if not {f"{name}_{form}" for form in "idr"} <= pond.judge.lives.keys():
        return
    new, gone, whole = (pond.fetched(f"{name}_{form}") for form in "idr")
    total: Counter[tuple[Any, ...]] = Counter()
    for instant in sorted({row[-1] for row in (*new, *gone, *whole)}):
        total.update(row[:-1] for row in new if row[-1] == instant)
        total.subtract(Counter(row[:-1] for row in gone if row[-1] == instant))
        result = Counter(row[:-1] for row in whole if row[-1] == instant)
        assert {row: n for row, n in total.items() if n} == result, f"{name} at {instant}: {total} is not {result}"


@pytest.mark.parametrize("quarter", range(4))  # so that both cores have some
def test_networks_hold(quarter: int) -> None:
    for seed in range(FIRST + quarter, FIRST + QUICK, 4):
        hold(answers_hold, make(seed))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_networks_hold_long(part: int) -> None:
    for seed in range(FIRST + QUICK + part * PART, FIRST + QUICK + (part + 1) * PART):
        hold(answers_hold, make(seed))


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(make(int(given)))
        hold(answers_hold, make(int(given)))
