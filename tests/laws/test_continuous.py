"""Laws 1 and 6 for continuous queries: at every instant the answer of the naive evaluation, however rows, batches, ticks,
shards, archiving and restarts fall.

A case is a random pond, a random life of it and a few random queries that were there before the first row. To try others:
`MILLPOND_SEED=5000 pytest tests/laws/test_continuous.py`.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.laws.questions import Asker
from tests.laws.running import CHANGES, EVENTS, Case, Running, hold, random_event, random_setting

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))
QUICK = 20  # cases that are tried always
PART = 70  # cases of one test of the others


def make(seed: int) -> Case:
    random = Random(seed)
    setting = random_setting(random)
    asker = Asker(random, whole=not setting.timestamps)
    queries = asker.network()
    kinds = EVENTS + CHANGES if random.random() < 0.3 else EVENTS
    first = [random_event(random, ("insert",)) for _ in range(random.randint(0, 5))]
    story = [random_event(random, kinds) for _ in range(random.randint(5, 25))]
    return Case(setting, queries, [*first, *story])


def answers_hold(case: Case) -> None:
    with Running(case.setting) as pond:
        for query in case.queries:
            pond.add(query)
        for event in case.story:
            pond.live(event)
        pond.finish()
        pond.check()


@pytest.mark.parametrize("quarter", range(4))  # so that both cores have some
def test_answers_hold(quarter: int) -> None:
    for seed in range(FIRST + quarter, FIRST + QUICK, 4):
        hold(answers_hold, make(seed))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(28))
def test_answers_hold_long(part: int) -> None:
    for seed in range(FIRST + QUICK + part * PART, FIRST + QUICK + (part + 1) * PART):
        hold(answers_hold, make(seed))
