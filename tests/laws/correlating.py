"""Correlated aggregates by plain lists and fractions: what is true, and whether an answer with bounds holds it.

x and y are integers or None; factors are powers of two, so that a line is drawn by doubles where fractions draw it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

SHOWN = ("", "_LOWER", "_UPPER")
BUCKETS = 4


@dataclass(frozen=True)
class Range:
    """factor, offset and closed of each end; `text` has the same in SQL, of the column {x}."""

    text: str
    independent: str
    low: tuple[float, int, bool] | None = None
    high: tuple[float, int, bool] | None = None

    def holds(self, x: int, aggregate: Fraction) -> bool:
        def beyond(end: tuple[float, int, bool], sign: int) -> bool:
            apart = sign * (x - (Fraction(end[0]) * aggregate + end[1]))
            return apart > 0 or (end[2] and apart == 0)

        return (self.low is None or beyond(self.low, 1)) and (self.high is None or beyond(self.high, -1))


RANGES = (
    Range("{x} > AVG({x})", "avg", low=(1, 0, False)),
    Range("2 * AVG({x}) - 5 >= {x}", "avg", high=(2, -5, True)),
    Range("{x} BETWEEN AVG({x}) - 3 AND 3 + AVG({x})", "avg", (1, -3, True), (1, 3, True)),
    Range("{x} <= 2 * MIN({x}) + 3", "min", high=(2, 3, True)),
    Range("{x} > MIN({x}) AND {x} < 4 * (MIN({x}) + 1)", "min", (1, 0, False), (4, 4, False)),
    Range("{x} >= MAX({x}) / 2", "max", low=(0.5, 0, True)),
    Range("{x} < 0.25 * MAX({x}) AND {x} > -7", "max", (0, -7, False), (0.25, 0, False)),
)
FUNCTIONS = ("COUNT", "SUM", "AVG")


@dataclass(frozen=True)
class Call:
    """One aggregate of rows (x, y): COUNT takes no y, and with `own` SUM and AVG are of x."""

    function: str
    range: Range
    own: bool = False

    def sql(self, suffix: str = "", x: str = "x", y: str = "y") -> str:
        value = "" if self.function == "COUNT" or self.own else f"{y} WHERE "
        return f"CORRELATED_{self.function}{suffix}({value}{self.range.text.format(x=x)}, {BUCKETS})"

    def all(self, name: str) -> list[str]:
        """The estimate and both bounds, as selected items."""
        return [f"{self.sql(suffix)} AS {name}{suffix.lower()}" for suffix in SHOWN]

    def truth(self, rows: Iterable[tuple[int | None, int | None]]) -> Fraction | None:
        known = [(x, y) for x, y in rows if x is not None]
        chosen: list[tuple[int, int | None]] = []
        if known:
            xs = [x for x, _ in known]
            whole = {"min": Fraction(min(xs)), "max": Fraction(max(xs)), "avg": Fraction(sum(xs), len(xs))}
            chosen = [(x, y) for x, y in known if self.range.holds(x, whole[self.range.independent])]
        if self.function == "COUNT":
            return Fraction(len(chosen))
        values = [v for x, y in chosen if (v := x if self.own else y) is not None]
        if self.function == "SUM":
            return Fraction(sum(values))
        return Fraction(sum(values), len(values)) if values else None

    def check(
        self, shown: Sequence[float | None], rows: Sequence[tuple[int | None, int | None]], *, exact: bool
    ) -> None:
        """An answer (value, lower, upper) for these rows; `exact` if it is not from a synopsis."""
        truth = self.truth(rows)
        value, lower, upper = shown
        if exact or len({x for x, _ in rows if x is not None}) <= BUCKETS:
            assert (truth is None) == (value is None)
            for number in shown if truth is not None else ():
                assert number is not None
                assert math.isclose(number, truth, rel_tol=1e-12, abs_tol=1e-12), (self.sql(), shown, truth, rows)
            return
        if truth is None:  # of no rows; where buckets cannot know it there are bounds, of what there might be
            return
        assert value is not None
        assert lower is not None
        assert upper is not None
        slack = 1e-9 if self.function == "AVG" else 0
        assert lower - slack <= truth <= upper + slack, (self.sql(), shown, float(truth), rows)
        assert lower - slack <= value <= upper + slack, (self.sql(), shown)


CALLS = tuple(
    Call(f, r, own) for r in RANGES for f, own in (("COUNT", False), ("SUM", False), ("AVG", False), ("SUM", True))
)
