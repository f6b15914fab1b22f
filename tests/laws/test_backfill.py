"""Back-fill is exact: a query added to a running stream has, from its first instant on, the result that it would have had it
been there from the start; so does one whose window was made wider, and one that is to begin in the past.

Standard tables stay as they are here: what they were before is nobody's history.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.laws.naive import inputs
from tests.laws.questions import Asker
from tests.laws.running import Case, Event, Running, hold, random_event, random_setting

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))
QUICK = 20  # cases that are tried always
PART = 50  # cases of one test of the others


def make(seed: int) -> Case:
    """The story has the moments at which queries come ("add", its name, how far back FROM reaches or None) and are altered ("widen",
    its name)."""
    random = Random(f"backfill {seed}")
    setting = random_setting(random)
    queries = Asker(random, whole=not setting.timestamps).network()
    story: list[Event] = [random_event(random, ("insert",)) for _ in range(random.randint(0, 5))]
    story += [random_event(random) for _ in range(random.randint(8, 20))]
    for query in queries:
        if query.history is not None:  # a view is there from the start; its readers come later
            story.insert(0, ("add", query.name, None))
            continue
        place = random.randint(1, len(story))
        story.insert(place, ("add", query.name, random.choice([None, None, 0, 1, 4, 15])))
        if random.random() < 0.4:
            story.insert(random.randint(place + 1, len(story)), ("widen", query.name))
    if seed % 5 == 0 and any(len(inputs(q.select)) > 1 for q in queries):
        story = one_silent(random, story)
    return Case(setting, queries, story)


def one_silent(random: Random, story: list[Event]) -> list[Event]:
    """One stream has no time until the last query has come; then its first rows may be from before it came."""
    silent, other = random.choice([("r", "s"), ("s", "r")])
    last = max(i for i, event in enumerate(story) if event[0] == "add")
    early = [(e[0], other, *e[2:]) if e[0] in ("rows", "advance") else e for e in story[:last]]
    back = random_event(random, ("rows",))[3]
    return [*early, story[last], ("rows", silent, -random.choice([0, 3, 8, 15]), back), *story[last + 1 :]]


def answers_hold(case: Case) -> None:
    with Running(case.setting) as pond:
        pond.network = case.queries
        for event in case.story:
            if event[0] in ("add", "widen"):
                pond.live(("tick",))
            pond.live(event)
        pond.finish()
        pond.check()


@pytest.mark.parametrize("quarter", range(4))  # so that both cores have some
def test_backfill_is_exact(quarter: int) -> None:
    for seed in range(FIRST + quarter, FIRST + QUICK, 4):
        hold(answers_hold, make(seed))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_backfill_is_exact_long(part: int) -> None:
    for seed in range(FIRST + QUICK + part * PART, FIRST + QUICK + (part + 1) * PART):
        hold(answers_hold, make(seed))
