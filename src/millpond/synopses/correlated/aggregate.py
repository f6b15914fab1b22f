"""Correlated aggregates in constant memory: AGG-D{y : x in a range given by AGG-I{x}}.

After Gehrke, Korn and Srivastava, "On Computing Correlated Aggregates Over Continual Data Streams" (SIGMOD 2001). The
range moves while the rows pass, so one would need all rows to answer exactly. But it only moves so far: an extreme of a
landmark window only ever moves outwards, and an average comes to rest. So a histogram of m buckets is kept where the ends
of the range may be next (the region of interest), and follows it by one of four strategies (`placing`).

What is held is F, the rows up to x, at the boundaries of the buckets, with proven bounds (`curve`), and the window as
panes (`panes`). Every decision depends on the rows and their order only, never on the batches in which they came.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from millpond.errors import counted
from millpond.synopses.base import Estimate, Floats, StateReader, StateWriter, Synopsis, SynopsisError, whole
from millpond.synopses.correlated.answer import answer, between, channels_of, of_the_living, weights_of
from millpond.synopses.correlated.curve import ESTIMATE, Curve
from millpond.synopses.correlated.panes import Means, Panes
from millpond.synopses.correlated.placing import Aim, RowSpread, Strategy, apart, place, swap
from millpond.synopses.correlated.predicate import Dependent, Independent, Limit, Predicate

PERIOD = 64
"""So many rows pass between two looks at whether quantile buckets should be swapped."""
LONGEST = 1 << 16
"""Rows that are looked at together; bounds the memory of a call, not the answer."""
LARGEST = 1e150
"""Of the size of numbers, so that squares, sums and thresholds stay finite."""


class CorrelatedAggregate(Synopsis):
    """The count, sum or average of y over the rows whose x is in a range that hangs on MIN, MAX or AVG of all x.

    >>> calls = CorrelatedAggregate("count", Predicate.above("avg"))
    >>> calls.add_many(None, [1.0, 2.0, 3.0, 10.0])
    >>> calls.estimate()
    Estimate(value=1.0, lower=1.0, upper=1.0)

    `window` is a number of rows, or None for all rows since the landmark (`reset` sets a new one). A sliding window does
    not keep its rows: it has `panes` parts, and of the oldest, partly left, a share is counted. Who still has the rows
    gives those that leave to `add_many`, with `leaving="given"`, and nothing is guessed about them.

    Exact while at most `buckets` different x are in the region of interest (all x, for AVG and for sliding windows), and
    leaving rows are given. Otherwise the bounds are what the buckets prove: they hold always, whatever the data and the
    order; how near they are depends on both, and no relative error is promised beforehand. Sums are sums of doubles, and
    exact up to their rounding. `deviations` says how far around an average buckets are kept, in deviations of the average.
    """

    KIND: ClassVar[bytes] = b"CORR"

    def __init__(
        self,
        dependent: str,
        predicate: Predicate,
        *,
        buckets: int = 10,
        window: int | None = None,
        panes: int = 16,
        strategy: str = Strategy.PIECEMEAL_UNIFORM,
        leaving: str = "estimated",
        deviations: float = 3.0,
    ) -> None:
        self.dependent = _one_of("a dependent aggregate", dependent, Dependent)
        self.strategy = _one_of("a strategy", strategy, Strategy)
        self.predicate = predicate
        self.buckets = whole("buckets", buckets, 3, 1 << 20)
        self.window = None if window is None else whole("a window", window, 1)
        self.panes = whole("panes", panes, 1)
        if not 0 < deviations < math.inf:
            raise SynopsisError(f"deviations must be more than 0, not {deviations!r}")
        self.deviations = float(deviations)
        if leaving not in ("estimated", "given"):
            raise SynopsisError(f'leaving must be "estimated" or "given", not {leaving!r}')
        self.leaving = leaving
        self._given = leaving == "given" and window is not None
        self._pane_length = 0 if self.window is None else -(-self.window // min(self.panes, self.window))
        # MAX is MIN of mirrored rows.
        self._mirror = predicate.independent is Independent.MAX
        self._predicate = predicate.mirrored() if self._mirror else predicate
        self.reset()

    def reset(self) -> None:
        """A new landmark: forget all rows."""
        channels = channels_of(self.dependent)
        self._seen = 0
        self._panes = Panes(channels)
        self._curve = Curve(channels)
        self._aimed: Aim | None = None

    # -- adding --------------------------------------------------------------------------------------------------------

    def add_many(self, times: npt.ArrayLike | None, values: Any = None, *, leaving: Any = None) -> None:
        """Rows in order: x, or the pair of arrays (x, y), or an array of rows [x, y]; y is x when not given. A row whose y is
        NaN has none: it counts for the range and in a COUNT, and adds nothing to a SUM or an AVG.

        `times` is None: windows are of rows. With `leaving="given"`, `leaving` has the rows that these push out of the
        window, in their order: one for each row from the first beyond the window on.
        """
        if times is not None:
            raise SynopsisError("a correlated aggregate takes no times", hint="Give None: its windows are of rows.")
        x, y = self._columns(values)
        gone_x, gone_y = self._columns([] if leaving is None else leaving)
        self._check_leaving(len(x), len(gone_x), leaving is not None)
        if not self._seen and len(x):
            self._panes.origin = float(x[0])
        at = 0
        first = len(x) - len(gone_x)  # that pushes a row out; `_stretch` ends before it
        while at < len(x):
            if self.window is not None and self._panes.rows[-1] == self._pane_length:
                self._panes.begin(self._seen)
                self._curve.begin_part()
            end = at + self._stretch(len(x) - at)
            left = slice(max(at - first, 0), max(end - first, 0))
            self._absorb(x[at:end], y[at:end], gone_x[left], gone_y[left])
            at = end
            while self.window is not None and self._panes.end_of_first() <= self._seen - self.window:
                self._panes.drop()
                self._curve.drop_part()
            if self.strategy is Strategy.PIECEMEAL_QUANTILE and self._seen % PERIOD == 0:
                self._balance()

    def _columns(self, values: Any) -> tuple[Floats, Floats]:
        if isinstance(values, tuple):
            if len(values) != 2:
                raise SynopsisError(f"rows are x, or x and y: not {counted(len(values), 'column')}")
            x, y = _numbers("x", values[0]), _numbers("y", values[1], missing=True)
            if len(x) != len(y):
                raise SynopsisError(f"there are {len(x)} x and {len(y)} y")
        else:
            rows = np.asarray([] if values is None else values)
            if rows.ndim == 2 and rows.shape[1] == 2:
                x, y = _numbers("x", rows[:, 0]), _numbers("y", rows[:, 1], missing=True)
            else:
                x = y = _numbers("x", rows)
        return (-x if self._mirror else x), y

    def _check_leaving(self, count: int, given: int, said: bool) -> None:
        if not self._given or self.window is None:
            if said:
                raise SynopsisError(
                    "rows that leave are not wanted here", hint='A sliding window with leaving="given" takes them.'
                )
            return
        due = max(0, min(count, self._seen + count - self.window))
        if given != due:
            raise SynopsisError(
                f"{counted(due, 'row leaves', 'rows leave')} the window, but {counted(given, 'was', 'were')} given"
            )

    def _stretch(self, most: int) -> int:
        """So many of the next rows belong to one pane, and no pane and no pane's extreme leaves before the last of them."""
        most = min(most, LONGEST)
        if self.strategy is Strategy.PIECEMEAL_QUANTILE:
            most = min(most, PERIOD - self._seen % PERIOD)
        if self.window is None:
            return most
        panes, left = self._panes, self._seen - self.window
        events = [self._pane_length - int(panes.rows[-1]), -left]
        if len(panes) > 1:
            events += [panes.end_of_first() - left, int(panes.lowest_at[0]) + 1 - left]
        return min([most, *(e for e in events if e > 0)])

    def _absorb(self, x: Floats, y: Floats, gone_x: Floats, gone_y: Floats) -> None:
        """Rows of one pane: in bulk between the rows at which knots have to change."""
        means = self._means(x, gone_x) if self._average else None
        if means is None and not self._curve.discrete:
            self._follow(self._extreme_aim(math.inf))
        at = 0
        while at < len(x):
            stop = self._next_change(x, at, means)
            if stop < len(x):
                self._take(x[at:stop], y[at:stop], gone_x[at:stop], gone_y[at:stop], means, stop)
                self._change(float(x[stop]), None if means is None else means.at(stop))
                at, stop = stop, stop + 1
            self._take(x[at:stop], y[at:stop], gone_x[at:stop], gone_y[at:stop], means, stop)
            at = stop

    def _means(self, x: Floats, gone: Floats) -> Means:
        full = self.window is not None and self._seen >= self.window
        return self._panes.means(x, gone if self._given else None, self._left(), full)

    def _take(self, x: Floats, y: Floats, gone_x: Floats, gone_y: Floats, means: Means | None, until: int) -> None:
        """Add rows (and let rows leave) with the knots as they are."""
        if not len(x):
            return
        weights = weights_of(self.dependent, y)
        self._curve.add(self._curve.buckets(x), weights)
        self._panes.add(x, y, weights, self._seen)
        if len(gone_x):
            weights = weights_of(self.dependent, gone_y)
            self._curve.add(self._curve.buckets(gone_x), weights, part=0, sign=-1.0)
            self._panes.leave(weights, len(gone_x))
        if means is not None:
            means.keep(self._panes, until)
        self._seen += len(x)

    # -- following the region of interest ------------------------------------------------------------------------------

    @property
    def _average(self) -> bool:
        return self._predicate.independent is Independent.AVG

    @property
    def _limit(self) -> int:
        """Knots that make `buckets` buckets: an average and a sliding window need the last one for what lies above."""
        return self.buckets - 1 if self._average or self.window is not None else self.buckets

    def _left(self) -> int:
        """Rows that have left the window."""
        return 0 if self.window is None else max(0, self._seen - self.window)

    def _ceiling(self, lowest: float) -> float:
        """Rows above it will not be asked for again: a landmark window's lowest value never rises."""
        if self._average or self.window is not None or lowest == math.inf:
            return math.inf
        return max(t for t in self._predicate.thresholds(lowest) if t is not None)

    def _next_change(self, x: Floats, at: int, means: Means | None) -> int:
        """The first row from `at` on before which knots have to change. Looks ahead in steps that double."""
        lowest = self._panes.living_lowest(self._left())
        ceiling = self._ceiling(lowest)
        size = 64
        while at < len(x):
            rows = slice(at, min(at + size, len(x)))
            if self._curve.discrete:
                knots = np.append(self._curve.knots, math.nan)
                changes = (knots[self._curve.buckets(x[rows])] != x[rows]) & (x[rows] <= ceiling)
                changes |= x[rows] < lowest  # the ceiling moves with it, also where it is below all rows
            elif means is not None:
                changes = self._strayed(*means.at(rows))
            else:
                changes = x[rows] < lowest
            first = int(changes.argmax())
            if changes[first]:
                return at + first
            at, size = rows.stop, size * 4
        return len(x)

    def _strayed(self, mean: Floats, spread: Floats) -> npt.NDArray[np.bool_]:
        """Whether averages (with their deviations) ask for other knots: wholesale, when an end of the regions has moved by
        the width of a bucket; piecemeal, when fewer than half of the knots are near an end of the range."""
        knots, aim = self._curve.knots, self._aimed
        regions = [_region(limit, mean, spread * self.deviations) for limit in self._predicate.limits()]
        if self.strategy.piecemeal or aim is None:
            least = max(1, self._limit // len(regions) // 2)
            near = [knots.searchsorted(high, "right") - knots.searchsorted(low, "left") for low, high in regions]
            return np.asarray(np.min(near, axis=0) < least)
        low, high = aim.regions[0][0], aim.regions[-1][1]
        width = sum(end - begin for begin, end in aim.regions) / self._limit
        return np.asarray((np.abs(regions[0][0] - low) > width) | (np.abs(regions[-1][1] - high) > width))

    def _change(self, x: float, mean: tuple[Any, Any] | None) -> None:
        """Make ready for a row that the knots as they are cannot take."""
        lowest = min(x, self._panes.living_lowest(self._left()))
        ceiling = self._ceiling(lowest)
        if mean is None and self.window is None and not self._curve.discrete and ceiling < self._panes.lowest[0]:
            self._curve.clear()  # nothing seen so far will be asked for again
            self._aimed = None
        if self._curve.discrete:
            self._curve.forget_above(ceiling)
            if len(self._curve.knots) == self.buckets and self.window is not None:
                self._curve.forget_unused()
            if len(self._curve.knots) < self.buckets:
                if x <= ceiling:
                    self._curve.insert(x)
                return
        self._follow(self._extreme_aim(x) if mean is None else self._average_aim(*mean))

    def _extreme_aim(self, x: float) -> Aim:
        """Thresholds are between that of the lowest value (x, when it is lower) and, as panes leave, that of the largest
        of their lowest values."""
        lowest = min(x, self._panes.living_lowest(self._left()))
        highest = lowest if self.window is None else max(lowest, self._panes.highest_lowest())
        wanted = sorted({t for t in self._predicate.thresholds(lowest) if t is not None and t > lowest})
        end = max(t for t in self._predicate.thresholds(highest) if t is not None)
        return Aim(((lowest, max(lowest, end)),), tuple(wanted))

    def _average_aim(self, mean: float, spread: float) -> Aim:
        """Thresholds are around the average, as far as chance may move it."""
        regions = [_region(limit, mean, spread * self.deviations) for limit in self._predicate.limits()]
        return Aim(apart([(float(low), float(high)) for low, high in regions]), normal=True)

    def _follow(self, aim: Aim) -> None:
        if aim == self._aimed:
            return
        rows = self._spread() if self.strategy.quantile else None
        knots = place(self.strategy, aim, self._limit, self._curve.knots, rows, self.deviations)
        self._aimed = aim
        self._move(knots)

    def _move(self, knots: Floats) -> None:
        self._curve.move(knots, self._panes.lowest, self._panes.highest, self._panes.totals)

    def _spread(self) -> RowSpread:
        """The rows as they are spread, as estimated from all panes; of y, where only that is added up."""
        counts = self._curve.values()[:, 0, ESTIMATE].sum(axis=0)
        lowest, highest = float(self._panes.lowest.min()), float(self._panes.highest.max())
        return RowSpread.of(self._curve.knots, counts, lowest, highest, float(self._panes.totals[:, 0].sum()))

    def _balance(self) -> None:
        if self._curve.discrete:
            return
        knots = swap(self._curve.knots, self._spread(), self._aimed) if self._aimed else None
        if knots is not None:
            self._move(knots)

    # -- asking --------------------------------------------------------------------------------------------------------

    def independent(self) -> Estimate:
        """The aggregate that the range hangs on: exact, but in a sliding window where an extreme has just left."""
        if self._average:
            value, lower, upper = self._panes.mean(self._left(), self._given)
        else:
            value, lower, upper = self._panes.lowest_with_bounds(self._left())
        return Estimate(-value, -upper, -lower) if self._mirror else Estimate(value, lower, upper)

    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        """The dependent aggregate over the window; an average of no rows is not a number."""
        if now is not None or (window is not None and window != self.window):
            raise SynopsisError(
                "a correlated aggregate answers for its own window only",
                detail=f"Its window is {'since the landmark' if self.window is None else counted(self.window, 'row')}.",
            )
        if not self._seen:
            empty = math.nan if self.dependent is Dependent.AVG else 0.0
            return Estimate.exactly(empty)
        value, lower, upper = self.independent()
        if self._mirror:
            value, lower, upper = -value, -upper, -lower
        found = self._in_range(value, value)
        if lower != upper:
            # Both ends rise with the aggregate: the widest and the narrowest range that it allows.
            found[..., 1], found[..., 2] = self._in_range(upper, lower)[..., 1], self._in_range(lower, upper)[..., 2]
            found[..., 0] = found[..., 0].clip(found[..., 1], found[..., 2])
        panes = self._panes
        left = self._left() - int(panes.start[0])
        if left > 0 and not self._given:
            rows = int(panes.rows[0])
            found[0] = of_the_living(found[0], self.dependent, rows, rows - left)
        return answer(found.sum(axis=0), self.dependent, float(panes.y_lowest.min()), float(panes.y_highest.max()))

    def _read_curve(self, at: Floats) -> Floats:
        return self._curve.read(at, self._panes.lowest, self._panes.highest, self._panes.totals)

    def _in_range(self, low: float, high: float) -> Floats:
        """Rows between the low end, given by one value of the aggregate, and the high end: [pane, channel, 3]."""
        below, above = self._predicate.thresholds(low)[0], self._predicate.thresholds(high)[1]
        panes = self._panes
        if below is not None and above is not None and above <= below:
            return np.zeros((*panes.totals.shape, 3))
        ends = [None if t is None else np.array([t]) for t in (below, above)]
        low_f, high_f = (None if t is None else self._read_curve(t)[..., 0] for t in ends)
        return between(low_f, high_f, panes.totals)

    @property
    def error(self) -> float:
        """What the buckets prove now; nothing is promised beforehand."""
        return self.estimate().error

    # -- holding -------------------------------------------------------------------------------------------------------

    def parameters(self) -> tuple[Any, ...]:
        return (
            str(self.dependent),
            self.predicate,
            self.buckets,
            self.window,
            self.panes,
            str(self.strategy),
            self.leaving,
            self.deviations,
        )

    @property
    def nbytes(self) -> int:
        return self._curve.nbytes + self._panes.nbytes

    def merge(self, other: Self) -> Self:
        """Both streams together, of landmark windows. The bounds of both add up, and those of the knots that are given up
        widen to their neighbours'; they stay proven. Sliding windows do not merge."""
        self._check_mergeable(other)
        if self.window is not None:
            raise SynopsisError(
                "sliding windows of rows do not merge",
                detail="The last rows of two streams together are not the last rows of each.",
                hint="Use landmark windows, or add the rows of both to one synopsis.",
            )
        merged, taken = (self, other) if self._seen else (other, self)
        merged = type(self).from_bytes(merged.to_bytes())
        if taken._seen:
            merged._join(taken)
        return merged

    def _join(self, other: CorrelatedAggregate) -> None:
        mine, theirs = self._panes, other._panes
        lowest = min(float(mine.lowest[0]), float(theirs.lowest[0]))
        ceiling = self._ceiling(lowest)
        both = np.unique(np.concatenate((self._curve.knots, other._curve.knots)))
        both = both[both <= ceiling]
        discrete = self._curve.discrete and other._curve.discrete
        known = self._read_curve(both) + other._read_curve(both)
        mine.join(theirs)
        self._seen += other._seen
        self._curve.knots, self._curve.known = both, known
        self._curve.fresh = np.zeros((*mine.totals.shape, len(both) + 1))
        self._curve.discrete = discrete
        self._aimed = None
        if discrete and len(both) <= self.buckets:
            return
        mean, spread = mine.mean_and_spread()
        self._follow(self._average_aim(mean, spread) if self._average else self._extreme_aim(math.inf))

    def _write(self, writer: StateWriter) -> None:
        for text in (self.dependent, self.predicate.independent, self.strategy, self.leaving):
            writer.raw(str(text).encode())
        for limit in (self.predicate.low, self.predicate.high):
            writer.number(limit is not None)
            if limit is not None:
                writer.real(limit.factor, limit.offset)
                writer.number(limit.closed)
        writer.number(self.buckets, -1 if self.window is None else self.window, self.panes)
        writer.real(self.deviations)
        self._write_state(writer)

    def _write_state(self, writer: StateWriter) -> None:
        writer.number(self._seen)
        self._panes.write(writer)
        self._curve.write(writer)
        aim = self._aimed
        writer.reals([place for region in aim.regions for place in region] if aim else [])
        writer.reals(aim.wanted if aim else [])
        writer.number(bool(aim and aim.normal))

    def _read_state(self, reader: StateReader) -> None:
        self._seen = reader.number()
        self._panes.read(reader)
        self._curve.read_from(reader)
        ends, wanted, normal = reader.reals().reshape(-1, 2), reader.reals(), bool(reader.number())
        regions = tuple((float(low), float(high)) for low, high in ends)
        self._aimed = Aim(regions, tuple(map(float, wanted)), normal) if regions else None

    @classmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        dependent, independent, strategy, leaving = (reader.raw().decode() for _ in range(4))
        ends = []
        for _ in range(2):
            there = reader.number()
            ends.append(Limit(reader.real(), reader.real(), bool(reader.number())) if there else None)
        buckets, window, panes = reader.number(), reader.number(), reader.number()
        made = cls(
            dependent,
            Predicate(Independent(independent), *ends),
            buckets=buckets,
            window=None if window < 0 else window,
            panes=panes,
            strategy=strategy,
            leaving=leaving,
            deviations=reader.real(),
        )
        made._read_state(reader)
        return made


def _region(limit: Limit, mean: Any, reach: Any) -> tuple[Any, Any]:
    return limit.factor * (mean - reach) + limit.offset, limit.factor * (mean + reach) + limit.offset


def _numbers(what: str, values: Any, *, missing: bool = False) -> Floats:
    numbers = np.asarray(values)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iufb":
        raise SynopsisError(f"{what} must be numbers in one dimension, not {numbers.dtype} in {numbers.ndim}")
    numbers = numbers.astype(np.float64, copy=False)
    if not np.all((np.abs(numbers) <= LARGEST) | (missing & np.isnan(numbers))):  # false for what is not a number
        raise SynopsisError(f"{what} must be finite numbers up to {LARGEST:g}", hint="Leave out rows without a value.")
    return numbers


_E = TypeVar("_E", bound=StrEnum)


def _one_of(what: str, value: str, kinds: type[_E]) -> _E:
    try:
        return kinds(value)
    except ValueError:
        raise SynopsisError(f"{what} is one of {', '.join(kinds)}, not {value!r}") from None
