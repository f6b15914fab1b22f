"""The traffic simulator: the reports and requests of a city of expressways, in time order.

**Vehicles** make at least one trip; some return 5-20 minutes after leaving, on any expressway. Vehicle ids are
global: the k-th vehicle that starts on expressway x of n is k * n + x.

**Repeatable**: each expressway draws from its own generator, the city from another, all seeded by `TrafficConfig.seed`.
In a round expressways do not see one another, so threads share them out and the rows do not depend on how many.

**Order.** Rows go by second, within a second by expressway, and each request is right behind its report. The rows of
the first expressways of a city are therefore the first rows of every second (see `generate.first_expressways`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import pyarrow as pa

from linear_road.expressway import Bools, Expressway, Ids
from linear_road.load import MINUTE_ROUNDS, ROUND, TrafficConfig, trips
from linear_road.requests import Asking, Reports, Requests

__all__ = ["BATCH_ROWS", "TrafficConfig", "simulate"]

RETURN_ROUNDS: Final = (10, 40)
BATCH_ROWS: Final = 200_000
"""A batch covers as many seconds as keep it at about this many rows, at least one and at most a round."""


def simulate(
    config: TrafficConfig, threads: int | None = None, on_skipped: Callable[[int], None] = lambda second: None
) -> Iterator[pa.RecordBatch]:
    """The run's input tuples in `Time` order over all expressways, a batch for every few seconds of simulated time.

    Memory: the vehicles on the road and a batch, whatever the length of the run. A stretch (`start_minute`) gives
    exactly the rows the full run has in those minutes; before it vehicles move, but no rows are made.
    `threads`, as many as there are processors unless told, share the expressways of each round among them.
    `on_skipped` hears of the seconds before the stretch that are done.
    """
    city = [Expressway(config, xway) for xway in range(config.expressways)]
    asking = [Asking(config.seed, xway) for xway in range(config.expressways)]
    requests = Requests(config.seed, config.xways)
    returns = _Returns(config)
    first = config.start_minute * MINUTE_ROUNDS
    workers = min(threads or os.cpu_count() or 1, config.expressways)
    with ThreadPoolExecutor(workers, "expressways") as pool:
        for number in range(config.end_minute * MINUTE_ROUNDS):

            def step(expressway: Expressway, arriving: Ids, who: Asking, number: int = number) -> Bools:
                return who.draw(expressway.step(number, arriving))

            work = (city, returns.arriving(number), asking)
            asks = list(pool.map(step, *work) if workers > 1 else map(step, *work))
            returns.left(number, [expressway.left for expressway in city])
            if number < first:
                requests.skip(sum(int(np.count_nonzero(some)) for some in asks))
                on_skipped((number + 1) * ROUND)
            else:
                yield from _rows(number, [expressway.reports() for expressway in city], asks, requests)


def _rows(number: int, city: list[Reports], asks: list[Bools], requests: Requests) -> Iterator[pa.RecordBatch]:
    """A round's rows of all expressways in time order, in batches of about `BATCH_ROWS`, cut between seconds."""
    requests.begin(number)
    count = sum(len(reports.vid) for reports in city)
    seconds = min(ROUND, max(1, ROUND * BATCH_ROWS // max(count, 1)))
    for low in range(0, ROUND, seconds):
        cuts = [np.searchsorted(reports.second, (low, low + seconds)) for reports in city]
        part = Reports.together([reports.rows(a, b) for reports, (a, b) in zip(city, cuts, strict=True)])
        asking = np.concatenate([some[a:b] for some, (a, b) in zip(asks, cuts, strict=True)])
        order = np.argsort(part.second, kind="stable")  # of bytes: NumPy sorts them by counting
        if len(order):
            yield requests.attach(number * ROUND, part, asking, order)


class _Returns:
    """Vehicles between two trips. A vehicle is here or on one expressway, never both, and stays here 5 minutes or more.

    Where too few vehicles wait, the trips do not happen, so that the number of vehicles follows from the load curve
    alone.
    """

    def __init__(self, config: TrafficConfig) -> None:
        self._config = config
        self._random = np.random.Generator(np.random.SFC64([config.seed, 0x5245_5455]))
        self._waiting: dict[int, Ids] = {}

    def arriving(self, number: int) -> list[Ids]:
        """The vehicles that return in this round, for each expressway."""
        low, high = RETURN_ROUNDS
        source = number - int(self._random.integers(low, high + 1))
        waiting = self._waiting.get(source, np.empty(0, np.int32))
        self._waiting.pop(number - high, None)
        config, arriving = self._config, []
        for xway in range(config.expressways):
            wanted = trips(config, xway, number)[1]
            arriving.append(waiting[:wanted])
            waiting = waiting[wanted:]
        if source in self._waiting:
            self._waiting[source] = waiting
        return arriving

    def left(self, number: int, vids: list[Ids]) -> None:
        """Take the vehicles that left the expressways in this round."""
        self._waiting[number] = self._random.permutation(np.concatenate(vids))
