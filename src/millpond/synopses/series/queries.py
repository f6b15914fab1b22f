"""What can be asked of many series again and again. A query is a value; its answer at a slot comes from the window there."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from millpond.synopses.base import SynopsisError, whole
from millpond.synopses.layout import Floats
from millpond.synopses.series.pairs import STRIP, Pairs, SeriesRows, pairs_above, top_pairs

STATISTICS = ("mean", "deviation", "min", "max", "count")


class SeriesWindow:
    """One window at one slot, with what its queries have in common: worked out once, when first needed."""

    def __init__(self, values: Floats, seed: int) -> None:
        self.values, self.seed = values, seed
        self._rows: SeriesRows | None = None
        self._statistics: dict[str, Floats] | None = None

    @property
    def rows(self) -> SeriesRows:
        if self._rows is None:
            self._rows = SeriesRows(self.values)
        return self._rows

    @property
    def statistics(self) -> dict[str, Floats]:
        if self._statistics is None:
            self._statistics = statistics(self.values)
        return self._statistics


@dataclass(frozen=True)
class SeriesQuery(ABC):
    """`window` is a length of time, a multiple of the monitor's slide."""

    window: int

    def __post_init__(self) -> None:
        whole("a window", self.window, 1)

    @abstractmethod
    def answer(self, window: SeriesWindow, before: Pairs | None) -> Any:
        """At a slot; `before` is what `TopPairs` answered last."""


@dataclass(frozen=True)
class Moving(SeriesQuery):
    """Mean, deviation, extremes and number of slots with a value, for each series: a dictionary of arrays.

    The deviation is that of all values in the window (divided by their number). A series that begins inside the window has the
    statistics of its part of it; one without values has NaN, and count 0.
    """

    statistics: tuple[str, ...] = STATISTICS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "statistics", tuple(self.statistics))
        for name in self.statistics:
            if name not in STATISTICS:
                raise SynopsisError(f"there is no moving {name!r}", hint=f"There are {', '.join(STATISTICS)}.")

    def answer(self, window: SeriesWindow, before: Pairs | None) -> dict[str, Floats]:
        return {name: window.statistics[name].copy() for name in self.statistics}


@dataclass(frozen=True)
class Correlation(SeriesQuery):
    """The correlation of these pairs of series: an array, NaN where a series is constant or does not fill the window."""

    pairs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in self.pairs):
            raise SynopsisError(f"pairs are two series each, such as ((0, 1), (0, 2)), not {self.pairs!r}")
        pairs = tuple((whole("a series", a, 0), whole("a series", b, 0)) for a, b in self.pairs)
        object.__setattr__(self, "pairs", pairs)

    def answer(self, window: SeriesWindow, before: Pairs | None) -> Floats:
        ends = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        return window.rows.correlation(ends[:, 0], ends[:, 1])


@dataclass(frozen=True)
class PairsAbove(SeriesQuery):
    """All pairs with a correlation of at least `threshold` (or, if `absolute`, at most minus it too): `Pairs`.

    With `miss` 0, none is missed. Else a pair at the threshold is missed at a slot with about that probability, and a long
    window costs little more than a short one; see `pairs`.
    """

    threshold: float
    absolute: bool = False
    miss: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.threshold <= 1:
            raise SynopsisError(f"a threshold must be more than 0 and at most 1, not {self.threshold!r}")
        _check_miss(self.miss)

    def answer(self, window: SeriesWindow, before: Pairs | None) -> Pairs:
        return pairs_above(window.rows, self.threshold, self.absolute, self.miss, window.seed)


@dataclass(frozen=True)
class TopPairs(SeriesQuery):
    """The `count` pairs with the highest correlation (or, if `absolute`, the strongest of either sign), best first: `Pairs`."""

    count: int
    absolute: bool = False
    miss: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("the number of pairs", self.count, 1)
        _check_miss(self.miss)

    def answer(self, window: SeriesWindow, before: Pairs | None) -> Pairs:
        return top_pairs(window.rows, self.count, self.absolute, self.miss, window.seed, before)


def _check_miss(miss: float) -> None:
    if not 0 <= miss < 0.5:
        raise SynopsisError(f"miss must be at least 0 and below 0.5, not {miss!r}")


def statistics(values: Floats) -> dict[str, Floats]:
    """Of each row, over its values that are not NaN; these stand at the end."""
    count, width = values.shape
    found = {name: np.full(count, np.nan) for name in STATISTICS}
    missing = np.isnan(values[:, 0]) if width else np.ones(count, dtype=bool)
    step = max(1, STRIP // max(1, width))
    whole_rows = np.flatnonzero(~missing)
    for begin in range(0, len(whole_rows), step):
        rows = whole_rows[begin : begin + step]
        _fill(found, rows, values[rows])
    for row in np.flatnonzero(missing).tolist():
        own = values[row]
        _fill(found, np.array([row]), own[~np.isnan(own)][None, :])
    return found


def _fill(found: dict[str, Floats], rows: Any, values: Floats) -> None:
    """`values` has the rows numbered `rows`, of equal length."""
    width = values.shape[1]
    found["count"][rows] = width
    if width:
        mean = values.mean(axis=1)
        centred = values - mean[:, None]
        found["mean"][rows] = mean
        found["deviation"][rows] = np.sqrt(np.einsum("ij,ij->i", centred, centred) / width)
        found["min"][rows] = values.min(axis=1)
        found["max"][rows] = values.max(axis=1)


KINDS: dict[str, type[SeriesQuery]] = {
    "moving": Moving,
    "correlation": Correlation,
    "pairs above": PairsAbove,
    "top pairs": TopPairs,
}


def to_text(query: SeriesQuery) -> str:
    kind = next(kind for kind, made in KINDS.items() if type(query) is made)
    return json.dumps({"kind": kind, **asdict(query)}, sort_keys=True)


def from_text(text: str) -> SeriesQuery:
    said = json.loads(text)
    made = KINDS.get(said.pop("kind", None))
    if made is None or set(said) != {field.name for field in fields(made)}:
        raise SynopsisError("these bytes hold a query that is not known here")
    return made(**said)
