"""What is known of F, where F(t) adds up the rows with x <= t: values at a few knots, with proof.

At each knot stand three numbers: an estimate of F, and a lower and an upper bound that are proven. A row adds to all
knots at or above its x, to all three numbers alike, so a bound that held still holds. A new knot between two others
starts with the estimate on the straight line between them, and with the bounds that a growing F leaves: the lower bound
of the knot to the left and the upper bound of the knot to the right. Hence, whatever is done to the knots,

    lower <= F <= upper    at every knot, and between knots by the nearest ones.

A curve has parts (the panes of a sliding window; a landmark window has one) and channels (the count, the sum of the
positive y, the sum of the negative ones turned positive: each of them makes F grow). Rows since the last move of the
knots are held by bucket, `fresh`; bucket j is (knot j-1, knot j]. While a curve is `discrete` every row lies on a knot,
and all of it is exact.
"""

from __future__ import annotations

import numpy as np

from millpond.synopses.base import Floats, Ints, StateReader, StateWriter

ESTIMATE, LOWER, UPPER = 0, 1, 2


class Curve:
    """F at knots for each part and channel; `known` is [part, channel, 3, knot], `fresh` [part, channel, knot + 1]."""

    __slots__ = ("discrete", "fresh", "knots", "known")

    def __init__(self, channels: int) -> None:
        self.discrete = True
        self.knots: Floats = np.empty(0)
        self.known: Floats = np.zeros((1, channels, 3, 0))
        self.fresh: Floats = np.zeros((1, channels, 1))

    def clear(self) -> None:
        """Forget all rows: what remains is a discrete curve without knots."""
        parts, channels = self.fresh.shape[:2]
        self.discrete = True
        self.knots = np.empty(0)
        self.known = np.zeros((parts, channels, 3, 0))
        self.fresh = np.zeros((parts, channels, 1))

    def buckets(self, x: Floats) -> Ints:
        """The bucket of each row."""
        return self.knots.searchsorted(x, "left")

    def add(self, buckets: Ints, weights: list[Floats | None], part: int = -1, sign: float = 1.0) -> None:
        """Rows of one part, or with sign -1 rows that leave it. No weights mean one each.

        The sums are those of adding row by row, so that they do not depend on how rows were batched.
        """
        size = len(self.knots) + 1
        for channel, weight in enumerate(weights):
            held = self.fresh[part, channel]
            if weight is None:
                held += sign * np.bincount(buckets, minlength=size)
            elif len(weight) < 16:
                np.add.at(held, buckets, sign * weight)
            else:
                start = np.arange(size)
                held[:] = np.bincount(np.concatenate((start, buckets)), np.concatenate((held, sign * weight)), size)

    def values(self) -> Floats:
        """Estimate and bounds at the knots: [part, channel, 3, knot]."""
        return self.known + np.cumsum(self.fresh, axis=-1)[:, :, None, :-1]

    def read(self, at: Floats, lowest: Floats, highest: Floats, totals: Floats) -> Floats:
        """Estimate and bounds at any places: [part, channel, 3, place].

        `lowest` and `highest` are the extremes of each part, `totals` [part, channel] all of its rows.
        """
        parts, channels = totals.shape
        padded = np.empty((parts, channels, 3, len(self.knots) + 2))
        padded[..., 0] = 0.0
        padded[..., 1:-1] = self.values()
        padded[..., -1] = totals[:, :, None]
        left = self.knots.searchsorted(at, "right")
        if self.discrete:
            return padded[..., left]
        right = self.knots.searchsorted(at, "left") + 1
        places = np.concatenate(([-np.inf], self.knots, [np.inf]))
        from_, to = np.maximum(places[left], lowest[:, None]), np.minimum(places[right], highest[:, None])
        width = to - from_
        inside = np.minimum(np.maximum(at - from_, 0.0), width)
        share = np.divide(inside, width, out=np.ones_like(width), where=(width > 0) & np.isfinite(width))[:, None, :]
        begin, end = padded[:, :, ESTIMATE, left], padded[:, :, ESTIMATE, right]
        found = np.empty((parts, channels, 3, len(at)))
        found[:, :, LOWER] = padded[:, :, LOWER, left]
        found[:, :, UPPER] = padded[:, :, UPPER, right]
        found[:, :, ESTIMATE] = begin + share * (end - begin)
        # Beyond its extremes a part has no rows or all of them.
        before, after = (at < lowest[:, None])[:, None, None, :], (at >= highest[:, None])[:, None, None, :]
        found = np.where(before, 0.0, np.where(after, totals[:, :, None, None], found))
        found[:, :, ESTIMATE] = found[:, :, ESTIMATE].clip(found[:, :, LOWER], found[:, :, UPPER])
        return found

    def move(self, knots: Floats, lowest: Floats, highest: Floats, totals: Floats) -> None:
        """Take other knots. Afterwards the curve is no longer discrete."""
        self.known = self.read(knots, lowest, highest, totals)
        self.knots = knots
        self.fresh = np.zeros((*totals.shape, len(knots) + 1))
        self.discrete = False

    def insert(self, x: float) -> None:
        """A knot for a value not seen so far, of a discrete curve."""
        assert self.discrete
        place = int(self.knots.searchsorted(x))
        self.knots = np.insert(self.knots, place, x)
        self.known = np.insert(self.known, place, 0.0, axis=-1)
        if place:
            self.known[..., place] = self.known[..., place - 1]
        self.fresh = np.insert(self.fresh, place, 0.0, axis=-1)

    def forget_above(self, x: float) -> None:
        """Drop the knots above x, of a discrete curve whose rows above x will not be asked for again."""
        kept = int(self.knots.searchsorted(x, "right"))
        self.knots = self.knots[:kept]
        self.known = self.known[..., :kept]
        self.fresh = np.concatenate((self.fresh[..., :kept], np.zeros((*self.fresh.shape[:2], 1))), axis=-1)

    def forget_unused(self) -> None:
        """Drop the knots of a discrete curve that nothing lies on, in any part."""
        values = self.values()
        held = np.diff(values[:, :, ESTIMATE], axis=-1, prepend=0.0)
        keep = (held != 0).any(axis=(0, 1))
        self.knots, self.known = self.knots[keep], values[..., keep]
        self.fresh = np.zeros((*self.fresh.shape[:2], len(self.knots) + 1))

    # -- parts ---------------------------------------------------------------------------------------------------------

    def begin_part(self) -> None:
        """A new part without rows, as the last."""
        self.known = np.concatenate((self.known, np.zeros_like(self.known[:1])))
        self.fresh = np.concatenate((self.fresh, np.zeros_like(self.fresh[:1])))

    def drop_part(self) -> None:
        """Forget the first part."""
        self.known, self.fresh = self.known[1:], self.fresh[1:]

    # -- holding -------------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        return self.knots.nbytes + self.known.nbytes + self.fresh.nbytes

    def write(self, writer: StateWriter) -> None:
        writer.number(self.discrete)
        for array in (self.knots, self.known, self.fresh):
            writer.array(array)

    def read_from(self, reader: StateReader) -> None:
        self.discrete = bool(reader.number())
        self.knots, self.known, self.fresh = reader.array(), reader.array(), reader.array()
