"""Timing of many handles: each is asked several times, in turns, so that a busy moment of the machine hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.harness import rounded


def response_times(handles: Mapping[str, Sequence[Any]], repeats: int) -> dict[str, dict[str, float]]:
    """For each name milliseconds a call of `invoke().arrow()`: the mean over its handles (as the paper has it) and their median.

    Of each handle the median of its repeats counts. The first round is not timed.
    """
    times: dict[str, list[list[float]]] = {name: [[] for _ in some] for name, some in handles.items()}
    for repeat in range(repeats + 1):
        for name, some in handles.items():
            for handle, mine in zip(some, times[name], strict=True):
                begin = time.perf_counter()
                handle.invoke().arrow()
                if repeat:
                    mine.append((time.perf_counter() - begin) * 1000)
    single = {name: [float(np.median(t)) for t in found] for name, found in times.items()}
    return {n: {"mean": rounded(float(np.mean(t))), "median": rounded(float(np.median(t)))} for n, t in single.items()}


def per_second(action: Callable[[], int], seconds: float) -> float:
    """`action` says how many rows it took; again and again for that long, after a first time that is not timed."""
    action()
    begin = time.perf_counter()
    count = 0
    while time.perf_counter() - begin < seconds or not count:
        count += action()
    return count / (time.perf_counter() - begin)
