"""Figure 11: one query's matches in R meet the rows of S: one probe for each match, or one composite probe for all of them.

The query is `R.a op1 c1 AND R.a op2 S.b AND S.b op3 c2`; R has been probed already, so what is left are values of R.a that each
look for partners in S, which is sorted by b as an index would have it. Workloads are named as in the paper's text, after the
factor that all probes share (S.b op3 c2) and that of the join (op2): Eq/Ineq, Ineq/Eq, Ineq/Ineq. Only finding the pairs is
timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report, median
from benchmarks.psoup import workload
from benchmarks.psoup.workload import OPERATORS, Array
from millpond.predicate.form import MIRRORED, Operator
from millpond.standing.kept.probe import Ranked, probe

WORKLOADS: dict[str, tuple[str, Operator]] = {"Eq/Ineq": ("=", "<"), "Ineq/Eq": ("<=", "="), "Ineq/Ineq": ("<=", "<")}
Pairs = tuple[Array, Array]
"""Places in R and in S."""


@dataclass(frozen=True)
class Sorted:
    """S, by b: `places[i]` is where the row with `values[i]` stands."""

    values: Array
    places: Array

    @classmethod
    def of(cls, values: Array) -> Sorted:
        order = np.argsort(values, kind="stable")
        return cls(values[order], order)

    def range(self, operator: str, value: int) -> tuple[int, int]:
        """Where the rows with `b operator value` begin and end; for an array of values, arrays."""
        left, right = (np.searchsorted(self.values, value, side) for side in ("left", "right"))
        zero, end = np.zeros_like(left), np.full_like(left, len(self.values))
        return {"=": (left, right), "<": (zero, left), "<=": (zero, right), ">": (right, end), ">=": (left, end)}[
            operator
        ]


def separate(left: Array, s: Sorted, operator: Operator, shared: str, constant: int) -> Pairs:
    """A probe for each: the more selective factor by the index, the other one tested on what it found."""
    found_left, found_right = [], []
    test_shared = OPERATORS[shared]
    test_join = OPERATORS[MIRRORED[operator]]
    for place, value in enumerate(left.tolist()):
        if shared == "=":
            begin, end = s.range(shared, constant)
            hit = test_join(s.values[begin:end], value)
        else:
            begin, end = s.range(MIRRORED[operator], value)
            hit = test_shared(s.values[begin:end], constant)
        partners = s.places[begin:end][hit]
        found_right.append(partners)
        found_left.append(np.full(len(partners), place))
    return np.concatenate(found_left), np.concatenate(found_right)


def composite(left: Array, s: Sorted, operator: Operator, shared: str, constant: int) -> Pairs:
    """One probe for all, that of millpond: the shared factor is applied once, then the values of both sides are merged."""
    begin, end = s.range(shared, constant)
    values, places = s.values[begin:end], s.places[begin:end]
    found = list(probe(Ranked(left.astype(np.int64)), Ranked(values.astype(np.int64)), operator))
    mine, theirs = (np.concatenate([piece[side] for piece in found] or [places[:0]]) for side in (0, 1))
    return mine, places[theirs]


def run(options: Options, report: Report) -> list[dict[str, Any]]:
    random = np.random.default_rng(11)
    found = []
    for name, (shared, operator) in WORKLOADS.items():
        for power in range(7, options.size(13, 9)):
            size = 2**power
            left, right = (workload.rows(random, size, ("a",))["a"] for _ in range(2))
            s = Sorted.of(right)
            constant = 128
            ways: dict[str, Callable[..., Pairs]] = {"separate": separate, "composite": composite}
            expected = _naive(left, right, operator, shared, constant)
            row: dict[str, Any] = {"workload": name, "rows": size, "pairs": len(expected)}
            for way, find in ways.items():
                pairs = find(left, s, operator, shared, constant)
                assert sorted(zip(*(p.tolist() for p in pairs), strict=True)) == expected, f"{name}, {way}: other pairs"
                row[f"{way}, ms"] = median([_timed(find, left, s, operator, shared, constant) for _ in range(5)])
            found.append(row)
    report.say("Figure 11: done")
    return found


def _naive(left: Array, right: Array, operator: str, shared: str, constant: int) -> list[tuple[int, int]]:
    fits = OPERATORS[operator](left[:, None], right[None, :]) & OPERATORS[shared](right, constant)[None, :]
    return sorted(zip(*(p.tolist() for p in np.nonzero(fits)), strict=True))


def _timed(find: Callable[..., Pairs], *arguments: Any) -> float:
    begin = time.perf_counter()
    find(*arguments)
    return (time.perf_counter() - begin) * 1000
