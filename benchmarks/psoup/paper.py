"""What the paper says: the numbers it prints, and each sentence of its text about the figures as something to be judged.

A sentence is judged by measured numbers alone. "An order of magnitude" is read as a factor of at least 10^0.5, "two orders" as
at least 10^1.5; "comparable" and "does not matter" as within a factor of 3; "much" as at least 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

TABLE_2 = {1: (0.394, 0.0465, 0.0565), 2: (0.4905, 0.024, 0.021), 4: (0.8255, 0.013, 0.0035)}
"""Interval predicates: milliseconds of NoMat, PSoup-P, PSoup-C. (Pentium III, 666 MHz, Java 1.3.)"""
JOIN_576 = (math.nan, 29.98, 8.54)
"""Figure 8 at a window of 576 rows: NoMat (it is not said), PSoup-P, PSoup-C."""

SHAPES = {
    "equality": {"partial": ("complete", 100, "P: 100 times C")},
    "interval": {"partial": ("complete", 1, "P: like C")},
    "joins": {
        "nothing": ("partial", 100, "NoMat: 100 times P"),
        "partial": ("complete", JOIN_576[1] / JOIN_576[2], "P: 3.5 times C"),
    },
    "arrival": {
        "P unshared": ("P shared", 1 / 10, "P unshared: a tenth of P shared"),
        "C shared": ("P shared", 1 / 100, "C: a hundredth of P shared"),
    },
}
"""What the text says of a curve: so many times another one. The curves themselves are only drawn, not told in numbers."""

ONE_ORDER, TWO_ORDERS = 10**0.5, 10**1.5
MUCH, COMPARABLE = 5.0, 3.0
MORE = 1.1  # below this a difference is noise

Found = list[dict[str, Any]]
Measured = dict[str, Found]


@dataclass(frozen=True)
class Statement:
    """`judge` says whether it holds and by which numbers; `why` is the reason if it does not."""

    about: str
    text: str
    needs: tuple[str, ...]
    judge: Callable[[Measured], tuple[bool, str]]
    why: str = ""


def column(found: Found, name: str) -> np.ndarray[Any, Any]:
    return np.array([row[name] for row in found], dtype=float)


def times(found: Found) -> tuple[Any, Any, Any]:
    """NoMat, P and C."""
    return column(found, "nothing, ms"), column(found, "partial, ms"), column(found, "complete, ms")


def _shown(*values: float) -> str:
    return ", ".join(f"{v:.3g}" for v in values)


# -- Figure 7 ---------------------------------------------------------------------------------------------------------


def _increase(m: Measured) -> tuple[bool, str]:
    growth = [t[-1] / t[0] for kind in ("equality", "interval") for t in times(m[kind])]
    return min(
        growth
    ) > MORE, f"largest window to smallest, N, P, C: equality {_shown(*growth[:3])}; interval {_shown(*growth[3:])}"


def _much_worse(m: Measured) -> tuple[bool, str]:
    factors = [float(np.min(n / np.maximum(p, c))) for n, p, c in map(times, (m["equality"], m["interval"]))]
    return min(
        factors
    ) >= MUCH, f"N to the slower of P and C, least over windows: equality {factors[0]:.3g}, interval {factors[1]:.3g}"


def _p_worse_for_equality(m: Measured) -> tuple[bool, str]:
    _, p, c = times(m["equality"])
    return p[-1] / c[-1] >= TWO_ORDERS, f"P to C at the largest window: {p[-1] / c[-1]:.3g}"


def _p_does_not_change(m: Measured) -> tuple[bool, str]:
    factor = times(m["interval"])[1][-1] / times(m["equality"])[1][-1]
    return 1 / COMPARABLE <= factor <= COMPARABLE, f"P, interval to equality at the largest window: {factor:.3g}"


def _others_higher(m: Measured) -> tuple[bool, str]:
    factors = [times(m["interval"])[i][-1] / times(m["equality"])[i][-1] for i in (0, 2)]
    return min(factors) > MORE, f"interval to equality at the largest window: N {factors[0]:.3g}, C {factors[1]:.3g}"


def _comparable(m: Measured) -> tuple[bool, str]:
    _, p, c = times(m["interval"])
    factors = p / c
    return bool(
        ((factors >= 1 / COMPARABLE) & (factors <= COMPARABLE)).all()
    ), f"P to C over windows: {_shown(factors.min(), factors.max())}"


# -- Figure 8 ---------------------------------------------------------------------------------------------------------


def _quadratic(m: Measured) -> tuple[bool, str]:
    found = m["joins"]
    power = np.polyfit(np.log(column(found, "window")), np.log(column(found, "rows a result")), 1)[0]
    return abs(power - 2) < 0.15, f"grows with the window to the power of {power:.3g}"


def _joins_much_worse(m: Measured) -> tuple[bool, str]:
    n, p, c = times(m["joins"])
    return n[-1] / max(
        p[-1], c[-1]
    ) >= TWO_ORDERS, f"N to P {n[-1] / p[-1]:.3g}, N to C {n[-1] / c[-1]:.3g} at the largest window"


def _p_within_an_order(m: Measured) -> tuple[bool, str]:
    n, p, c = times(m["joins"])
    near = int(np.argmin(abs(column(m["joins"], "window") - 576)))
    told = f"N, P, C at a window of {m['joins'][near]['window']}: {_shown(n[near], p[near], c[near])} ms"
    return float((p / c).max()) < 10, f"P to C at most {(p / c).max():.3g}; {told}"


def _no_scaling(m: Measured) -> tuple[bool, str]:
    growth = [times(m[kind])[0][-1] / times(m[kind])[0][0] for kind in ("equality", "interval", "joins")]
    return min(growth) >= MUCH, f"N, largest window to smallest: equality, interval, joins {_shown(*growth)}"


# -- Table 2 ----------------------------------------------------------------------------------------------------------


def _one_to_two_orders(m: Measured) -> tuple[bool, str]:
    n, p, c = times(m["table2"])
    return float((n / np.maximum(p, c)).min()) >= ONE_ORDER, f"N to P {_shown(*(n / p))}; N to C {_shown(*(n / c))}"


def _n_increases(m: Measured) -> tuple[bool, str]:
    n = times(m["table2"])[0]
    return n[0] * MORE < n[-1], f"N: {_shown(*n)} ms"


def _p_c_decrease(m: Measured) -> tuple[bool, str]:
    _, p, c = times(m["table2"])
    return p[0] > 2 * p[-1] and c[0] > 2 * c[-1], f"P: {_shown(*p)} ms; C: {_shown(*c)} ms"


def _switch(m: Measured) -> tuple[bool, str]:
    _, p, c = times(m["table2"])
    return c[0] > p[0] and c[1] < p[1], f"C to P with 1, 2, 4 predicates: {_shown(*(c / p))}"


def _c_dramatic(m: Measured) -> tuple[bool, str]:
    c = times(m["table2"])[2]
    return c[0] / c[-1] >= MUCH, f"C with one predicate to C with four: {c[0] / c[-1]:.3g} (paper: 16)"


# -- Figure 9 ---------------------------------------------------------------------------------------------------------


def _rates(m: Measured, name: str) -> np.ndarray[Any, Any]:
    return column(m["arrival"], f"{name}, rows/s")


def _best(m: Measured) -> tuple[bool, str]:
    factor = _rates(m, "P shared") / _rates(m, "P unshared")
    return float(factor[-1]) >= ONE_ORDER, f"P shared to P unshared: {_shown(*factor)}"


def _best_complete(m: Measured) -> tuple[bool, str]:
    factors = [float((_rates(m, "P shared") / _rates(m, f"C {name}"))[-1]) for name in ("shared", "unshared")]
    return min(
        factors
    ) >= TWO_ORDERS, f"P shared to C shared {factors[0]:.3g}, to C unshared {factors[1]:.3g} with most queries"


def _no_matter(m: Measured) -> tuple[bool, str]:
    factor = _rates(m, "C shared") / _rates(m, "C unshared")
    return float(factor.max()) <= COMPARABLE, f"C shared to C unshared: {_shown(*factor)}"


def _speedup(m: Measured) -> tuple[bool, str]:
    factor = _rates(m, "P shared") / _rates(m, "P unshared")
    return float(factor[-1]) > MORE * float(factor[0]), f"P shared to P unshared: {_shown(*factor)}"


def _adverse(m: Measured) -> tuple[bool, str]:
    best, unshared, complete = _rates(m, "P shared"), _rates(m, "P unshared"), _rates(m, "C shared")
    told = f"P shared to P unshared {_shown((best / unshared)[-1])}, to C shared {_shown((best / complete)[-1])}"
    return bool(best[-1] > MORE * unshared[-1] and best[-1] > MORE * complete[-1]), told


# -- Figure 11 --------------------------------------------------------------------------------------------------------


def _composite(m: Measured, workload: str) -> np.ndarray[Any, Any]:
    """Separate to composite, over the numbers of rows."""
    mine = [row for row in m["composite"] if row["workload"] == workload]
    return column(mine, "separate, ms") / column(mine, "composite, ms")


def _twice(m: Measured) -> tuple[bool, str]:
    factor = _composite(m, "Eq/Ineq")
    return 1.5 <= float(factor[-1]) <= 3, f"separate to composite: {_shown(*factor)}"


def _sort_merge(m: Measured) -> tuple[bool, str]:
    factor = _composite(m, "Ineq/Eq")
    return float(factor.min()) > MORE, f"separate to composite: {_shown(*factor)}"


def _nested_loops(m: Measured) -> tuple[bool, str]:
    factor = _composite(m, "Ineq/Ineq")
    return float(factor[-1]) < 1, f"separate to composite: {_shown(*factor)}"


ONE_AT_A_TIME = (
    "Each separate probe is a call from Python over an array here, and costs microseconds whatever it finds; a composite"
    " probe pays that once, so it gains by the number of probes and not by the number of factors."
)

STATEMENTS = (
    Statement(
        "Figure 7",
        "The response times increase for all three systems with increasing window sizes.",
        ("equality", "interval"),
        _increase,
        "A kept result is cut out of lists by binary search: equality queries with few rows cost the same in any "
        "window.",
    ),
    Statement(
        "Figure 7",
        "The response time for both workloads under NoMat is much worse than the other two.",
        ("equality", "interval"),
        _much_worse,
        "Where a result is a third of the window, copying its rows is most of the work, and all three do that.",
    ),
    Statement(
        "Figure 7",
        "PSoup-P performs worse than PSoup-C by two orders of magnitude for equality queries because of the need "
        "to traverse an entire bitarray of the size of the maximum input window.",
        ("equality",),
        _p_worse_for_equality,
        "Matches are kept as sorted lists where they are few, so that no bits of the window are traversed.",
    ),
    Statement(
        "Figure 7",
        "The performance of PSoup-P does not change between equality and inequality queries.",
        ("equality", "interval"),
        _p_does_not_change,
        "The same: the cost of a list is that of the rows found, which are a third of the window instead of some "
        "hundreds.",
    ),
    Statement(
        "Figure 7",
        "The response time for both NoMat and PSoup-C is higher for inequality queries than for equality queries.",
        ("equality", "interval"),
        _others_higher,
        "From scratch the whole window is scanned whichever the predicate is.",
    ),
    Statement(
        "Figure 7",
        "The performance of PSoup-P and PSoup-C is comparable for inequality queries.",
        ("interval",),
        _comparable,
        "Many matches are bits, and P reads a column of them over the whole window; C has the list of row numbers ready.",
    ),
    Statement(
        "Figure 8",
        "The result size aggregated over all queries is proportional to the square of the window size.",
        ("joins",),
        _quadratic,
    ),
    Statement(
        "Figure 8",
        "The response time for NoMat is about two orders of magnitude worse than that of the PSoup systems.",
        ("joins",),
        _joins_much_worse,
        "From scratch DuckDB joins here, vectorised and on both cores, where NoMat probed a tree for each row.",
    ),
    Statement(
        "Figure 8",
        "PSoup-P is less than an order of magnitude worse than PSoup-C (29.98 and 8.54 ms at a window of 576).",
        ("joins",),
        _p_within_an_order,
        "A complete result is a shorter list of row numbers; the rows themselves are looked up and copied by both.",
    ),
    Statement(
        "Figures 7, 8",
        "Systems that do not materialize the results of the queries do not scale with increasing input window size.",
        ("equality", "interval", "joins"),
        _no_scaling,
        "A scan of 2^16 rows takes about as long as parsing, planning and starting it: the growth begins later "
        "than in 2002.",
    ),
    Statement(
        "Table 2",
        "Both PSoup solutions outperform NoMat by between one to two orders of magnitude.",
        ("table2",),
        _one_to_two_orders,
        "With one predicate a third of 32,768 rows is copied for each answer, by all three.",
    ),
    Statement(
        "Table 2",
        "The response time for NoMat increases with the number of conjoined interval predicates.",
        ("table2",),
        _n_increases,
        "More predicates leave fewer rows to be copied, and a vectorised comparison of 32,768 numbers costs "
        "microseconds.",
    ),
    Statement(
        "Table 2",
        "The response times for PSoup-P and PSoup-C decrease significantly.",
        ("table2",),
        _p_c_decrease,
        "Understanding the question and taking a prefix of the rows costs some tenths of a millisecond whatever is "
        "found: that is the least that P and C take here.",
    ),
    Statement(
        "Table 2",
        "PSoup-C is slower than PSoup-P with one interval predicate and faster from two on.",
        ("table2",),
        _switch,
        "The reason given is the traversal of linked lists in PSoup-C; there are none here.",
    ),
    Statement(
        "Table 2",
        "PSoup-C's performance improves dramatically due to the reduction in result sizes.",
        ("table2",),
        _c_dramatic,
        "Understanding the question and taking a prefix of the rows costs some tenths of a millisecond whatever is "
        "found: that is the least that P and C take here.",
    ),
    Statement(
        "Figure 9",
        "PSoup-P Shrd beats PSoup-P Unshrd by an order of magnitude.",
        ("arrival",),
        _best,
    ),
    Statement(
        "Figure 9",
        "PSoup-P Shrd beats the two PSoup-C based solutions by two orders of magnitude.",
        ("arrival",),
        _best_complete,
        "Windows are applied once a tick to all rows of it, and not once a row.",
    ),
    Statement(
        "Figure 9",
        "For PSoup-C it almost does not matter whether or not the computation is shared through indexing queries.",
        ("arrival",),
        _no_matter,
        "As above: the upkeep of windows does not dominate, so that what sharing saves shows.",
    ),
    Statement(
        "Figure 9",
        "The speedup of PSoup-P Shrd over PSoup-P Unshrd increases with the number of query specifications.",
        ("arrival",),
        _speedup,
    ),
    Statement(
        "Figure 9",
        "Not to index queries, and to maintain query results up to date, both adversely affect the data arrival rate.",
        ("arrival",),
        _adverse,
    ),
    Statement(
        "Figure 11",
        "Eq/Ineq (the shared factor is an equality): composite tuples are approximately twice as efficient.",
        ("composite",),
        _twice,
        ONE_AT_A_TIME,
    ),
    Statement(
        "Figure 11",
        "Ineq/Eq: the composite tuple with a sort-merge join outperforms nested loops.",
        ("composite",),
        _sort_merge,
    ),
    Statement(
        "Figure 11",
        "Ineq/Ineq: sort-merge is not a good algorithm for inequality joins, nested loops with an index are preferred.",
        ("composite",),
        _nested_loops,
        ONE_AT_A_TIME + " Sorted once, the matches of an inequality are a range for each row.",
    ),
)


def judged(measured: Measured) -> Found:
    """A row for each statement whose experiment was run."""
    rows = []
    for statement in STATEMENTS:
        if all(name in measured for name in statement.needs):
            holds, numbers = statement.judge(measured)
            here, why = ("holds", "") if holds else ("does not hold", statement.why)
            found = {"about": statement.about, "the paper says": statement.text}
            rows.append({**found, "here": here, "measured": numbers, "why": why})
    return rows
