"""Approximate aggregates: groups over a window of time, each held as a synopsis instead of its rows.

    SELECT seg, APPROX_COUNT(*, 0.01) AS n FROM tolls [INTERVAL '24' HOUR] GROUP BY seg SAMPLE INTERVAL '1' SECOND

Invariant. `Approximated` has taken in the rows up to `upto`, at least those that a later instant sees. Which groups appear, and
where a sum is NULL, is exact: it follows from the time of a group's newest row, and of its newest value. Numbers are within
the error that was given; which number within it may depend on batches and on rows that have left the window.

An average is a sum by a count, a variance has a sum of squares too. So what is held are parts, and measures share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.errors import EngineError
from millpond.network.aggregates.shape import Shape
from millpond.network.aggregates.summaries import NEVER, Summarised
from millpond.network.aggregates.summaries import Part as Kept
from millpond.synopses import (
    Estimates,
    GroupedExponentialHistogram,
    GroupedSlidingDistinct,
    GroupedSlidingLp,
    GroupedSlidingSum,
)
from millpond.synopses.canonical import interval
from millpond.synopses.hashing import hashed
from millpond.synopses.means import mean_bounds, mean_part, variance_bounds, variance_part

Ints = npt.NDArray[np.int64]
Grouped = GroupedExponentialHistogram | GroupedSlidingSum | GroupedSlidingDistinct | GroupedSlidingLp

MOST = 1 << 53
"""The largest value that is summed."""
LEAST = 1e-4
"""The smallest error: a synopsis for less would take a megabyte for each group, and more."""
MOST_SQUARED = 1 << 26
"""The largest value whose square is."""
_FEW = 1024  # groups that are kept in any case


@dataclass(frozen=True)
class Measure:
    """What a synopsis is of: `column` None is COUNT(*)."""

    function: str
    column: str | None
    eps: float
    p: float = 0.0  # of a norm

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    @property
    def parts(self) -> tuple[SynopsisPart, ...]:
        """What it is made of."""
        if self.function == "avg":
            return tuple(SynopsisPart(kind, self.column, mean_part(self.eps)) for kind in ("count", "sum"))
        if self.function == "var_pop":
            return tuple(
                SynopsisPart(kind, self.column, variance_part(self.eps)) for kind in ("count", "sum", "squares")
            )
        return (SynopsisPart(self.function, self.column, self.eps, self.p),)

    def of(self, parts: Sequence[Estimates]) -> Estimates:
        """Its own estimates from those of its parts. Where there is no value, they mean nothing."""
        if len(parts) == 1:
            return parts[0]
        count = Estimates(*(np.maximum(c, 1) for c in parts[0]))
        if self.function == "avg":
            lower, upper = mean_bounds(count, parts[1], MOST)
            return Estimates(interval(lower, upper), lower, upper)
        lower, upper = variance_bounds(count, parts[1], parts[2], MOST_SQUARED)
        return Estimates((lower + upper) / 2, lower, upper)


@dataclass(frozen=True)
class SynopsisPart:
    """One synopsis: `kind` is count, sum, squares (the sum of these), distinct or norm."""

    kind: str
    column: str | None
    eps: float
    p: float = 0.0

    def make(self, window: int) -> Grouped:
        if self.kind == "count":
            return GroupedExponentialHistogram(self.eps, window)
        if self.kind == "distinct":
            return GroupedSlidingDistinct(self.eps, window)
        if self.kind == "norm":
            return GroupedSlidingLp(self.p, self.eps, window)
        return GroupedSlidingSum(self.eps, window, MOST)

    def take_in(self, synopsis: Grouped, places: Ints, times: Ints, column: pa.ChunkedArray | None) -> None:
        """Rows, and what they have in the column that is measured."""
        if column is None:
            synopsis.add_many(places, times, None)
            return
        known = column.is_valid().to_numpy() if column.null_count else None
        if self.kind == "count":
            synopsis.add_many(places, times, known)
        elif self.kind in ("distinct", "norm"):
            if known is not None:
                places, times, column = places[known], times[known], column.drop_null()
            synopsis.add_many(places, times, hashable(column))
        else:
            values = integers(column.fill_null(0) if known is not None else column).astype(np.int64, copy=False)
            self._check(values, MOST_SQUARED if self.kind == "squares" else MOST)
            synopsis.add_many(places, times, np.square(values) if self.kind == "squares" else values)

    def _check(self, values: Ints, most: int) -> None:
        least, greatest = int(values.min(initial=0)), int(values.max(initial=0))
        if least < 0 or greatest > most:
            raise EngineError(
                f"a value must be from 0 to {most}, not {least if least < 0 else greatest}",
                detail=f"It is one of {self.column}, of which {'squares' if self.kind == 'squares' else 'sums'} are estimated.",
                hint="Leave such rows out in WHERE, or take the exact aggregate.",
            )


def hashable(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """The values of a column as hashes take them: equal ones stay equal in every batch and process, different ones different."""
    kind = column.type
    found: npt.NDArray[Any]
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind)):
        found = column.to_numpy()
        return found
    encoded = column.combine_chunks().dictionary_encode()
    # A text in NumPy loses the zeros at its end.
    texts = [v.hex() if isinstance(v, bytes) else f"{v}." for v in encoded.dictionary.to_pylist()]
    found = hashed(np.array(texts))[encoded.indices.to_numpy()]
    return found


class SynopsisClock:
    """Times as the synopses count them. A window [t - interval, t] holds both ends.

    Where instants and the window are multiples of a slide, time is counted in halves of it: 2k at k slides, 2k - 1 between there
    and the slide before. That is all a window can tell apart, and small numbers take less memory.
    """

    def __init__(self, interval: int, slide: int | None) -> None:
        self._slide = slide if slide is not None and interval % slide == 0 else None
        self.window = interval + 1 if self._slide is None else 2 * (interval // self._slide) + 1

    def __call__(self, time: Ints) -> Ints:
        if self._slide is None:
            return time
        halves: Ints = -(-time // self._slide) * 2 - (time % self._slide != 0)
        return halves


class Approximated(Summarised):
    """The synopses of all groups, up to `upto`."""

    def __init__(
        self,
        shape: Shape[Measure],
        schema: pa.Schema,
        upto: int,
        interval: int,
        slide: int | None,
        fingerprint: str = "",
    ) -> None:
        super().__init__(shape, schema, upto, fingerprint)
        self._interval = interval
        self._clock = SynopsisClock(interval, slide)
        # A group's number changes when others are let go, its place in the synopses does not.
        self._place: Ints = np.zeros(0, dtype=np.int64)
        self._free: Ints = np.zeros(0, dtype=np.int64)
        self._used = 0
        self._last: Ints = np.zeros(0, dtype=np.int64)
        self._last_value: dict[str, Ints] = {c: np.zeros(0, dtype=np.int64) for c in shape.needs}
        parts = dict.fromkeys(part for measure in shape.measures for part in measure.parts)
        self._made: dict[SynopsisPart, Grouped] = {part: part.make(self._clock.window) for part in parts}
        self._make_room()

    @property
    def bytes(self) -> int:
        arrays = [self._place, self._free, self._last, *self._last_value.values()]
        return sum(a.nbytes for a in arrays) + sum(m.nbytes for m in self._made.values()) + self._groups.bytes

    @property
    def begin(self) -> int:
        return self.upto - self._interval

    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows, which come after all that were brought in."""
        if not len(moments):
            return
        if (moments[1:] < moments[:-1]).any():
            order = np.argsort(moments, kind="stable")
            rows, moments = rows.take(pa.array(order)) if rows.num_columns else rows, moments[order]
        times = self._clock(moments)
        groups = self._groups.find(rows, len(moments))
        self._make_room()
        missing = self._missing(groups, moments)
        if missing is not None:
            rows = rows.filter(pa.array(missing)) if rows.num_columns else rows
            groups, times = groups[missing], times[missing]
            if not len(groups):
                return
        self._taken += len(groups)
        self._last[groups] = times  # of equal groups the last one, the newest, stays
        places = self._place[groups]
        for name in self.shape.needs:
            column = rows.column(name)
            known = column.is_valid().to_numpy() if column.null_count else slice(None)
            self._last_value[name][groups[known]] = times[known]
        for part, synopsis in self._made.items():
            part.take_in(synopsis, places, times, None if part.column is None else rows.column(part.column))

    def content(self) -> pa.Table:
        """All groups with rows in the window, as they are at `upto`."""
        now = int(self._clock(np.array([self.upto], dtype=np.int64))[0])
        begin = now - self._clock.window
        live = np.flatnonzero(self._last[: self._groups.size] > begin)
        if not self.shape.groups:
            live = np.zeros(1, dtype=np.int64)
        elif self._groups.size > max(_FEW, 2 * len(live)):
            live = self._let_go(live)
        parts = {part: synopsis.estimate(self._place[live], now=now) for part, synopsis in self._made.items()}
        found = {m: m.of([parts[part] for part in m.parts]) for m in self.shape.measures}
        arrays = []
        for item in self.shape.items:
            if item.measure is None:
                arrays.append(self._groups.column(item.column, live))
                continue
            nulls = None
            if item.measure.function in ("sum", "avg", "var_pop"):
                nulls = self._last_value[item.measure.column or ""][live] <= begin
            arrays.append(pa.chunked_array([pa.array(getattr(found[item.measure], item.shown), mask=nulls)]))
        return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])

    def _make_room(self) -> None:
        super()._make_room()
        new = self._groups.size - len(self._place)
        if new <= 0:
            return
        old, self._free = self._free[:new], self._free[new:]
        fresh = self._used + np.arange(new - len(old))
        self._used += len(fresh)
        self._place = np.concatenate([self._place, old, fresh])
        nothing = np.full(new, NEVER)
        self._last = np.concatenate([self._last, nothing])
        self._last_value = {c: np.concatenate([v, nothing]) for c, v in self._last_value.items()}
        for synopsis in self._made.values():
            synopsis.reserve(self._used)

    def _let_go(self, live: Ints) -> Ints:
        """Forget groups without rows in the window; the numbers of the others afterwards."""
        gone = np.ones(self._groups.size, dtype=np.bool_)
        gone[live] = False
        places = self._place[gone]
        for synopsis in self._made.values():
            synopsis.clear(places)
        self._free = np.concatenate([self._free, places])
        self._groups, numbers = self._groups.only(live)
        moved = np.empty(len(live), dtype=np.int64)
        moved[numbers] = live
        self._place, self._last = self._place[moved], self._last[moved]
        self._last_value = {c: v[moved] for c, v in self._last_value.items()}
        return np.arange(len(live))

    # -- checkpoints -----------------------------------------------------------------------------------------------------

    @property
    def states(self) -> int:
        return len(self._made)

    @property
    def size(self) -> int:
        """Places that are or were used: a group keeps its place until it is let go, so that it is in one part."""
        return self._used

    def part(self, begin: int, end: int) -> pa.Table:
        numbers = np.flatnonzero((self._place >= begin) & (self._place < end))
        times = [pa.array(v[numbers]) for v in (self._last, *self._last_value.values())]
        states = [synopsis.part(self._place[numbers]).to_bytes() for synopsis in self._made.values()]
        return self._packed(numbers, times, states)

    def _absorb(self, part: Kept) -> None:
        last, *values = (column.to_numpy() for column in part.columns)
        self._last[part.groups] = last
        for column, value in zip(self._last_value.values(), values, strict=True):
            column[part.groups] = value
        places = self._place[part.groups]
        for synopsis, state in zip(self._made.values(), part.states, strict=True):
            synopsis.clear(places)
            synopsis.absorb(synopsis.from_bytes(state), places)  # type: ignore[arg-type]
