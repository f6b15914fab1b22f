"""Correlated aggregates since a landmark: each group held as its few rows or, when they are many, as a few buckets.

    SELECT origin, CORRELATED_COUNT(duration > AVG(duration)) AS n FROM calls [LANDMARK DAY] GROUP BY origin SAMPLE REALTIME

Invariant. `Correlations` has taken in exactly the rows from the last landmark at `upto` up to `upto`, in order of time and
arrival. What it shows follows from these rows and their order alone: batches and restarts change nothing, for a synopsis of the
same rows is the same in any batches, and a landmark forgets all. Which groups appear is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import from_ipc, integers, to_ipc
from millpond.errors import EngineError
from millpond.network.aggregates.groups import Groups
from millpond.network.aggregates.shape import Shape
from millpond.network.aggregates.summaries import Part, Summarised
from millpond.synopses import CorrelatedAggregate
from millpond.synopses.correlated import Predicate, exactly

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KEPT = 32
"""Rows of a group that are kept as they are: they take no more than buckets would, and the answer is exact."""
MOST = 2 << 30
"""Bytes that a query may hold in one process."""
OVERHEAD = 2_500
"""Bytes that the objects of a synopsis take besides their numbers."""
_SHOWN = ("value", "lower", "upper")
_AT_ONCE = 1 << 14  # groups, so that what is computed of them stays in the cache


@dataclass(frozen=True)
class CorrelatedMeasure:
    """What a synopsis is of: `function` of y over the rows whose x is in the range."""

    function: str
    predicate: Predicate
    x: str
    y: str
    buckets: int

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.x,) if self.function == "count" else (self.x, self.y)

    def made(self) -> CorrelatedAggregate:
        return CorrelatedAggregate(self.function, self.predicate, buckets=self.buckets)


class _Kept:
    """What is held of all groups for one measure. A group's rows are kept as they are, up to `most` of them; from then on they
    are in a synopsis, to which they came in their order. Rows without x are left out."""

    def __init__(self, measure: CorrelatedMeasure, most: int) -> None:
        self._measure = measure
        self._most = most
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self._x: Floats = np.zeros((0, most))
        self._y = self._x if len(measure.columns) == 1 else self._x.copy()
        self._many: dict[int, CorrelatedAggregate] = {}
        self._stale: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._shown: Floats = np.zeros((len(_SHOWN), 0))

    @property
    def nbytes(self) -> int:
        m = self._measure
        channels = {"count": 1, "sum": 2}.get(m.function, 3)
        numbers = 8 * (m.buckets + 5 * channels * (m.buckets + 2))
        arrays = [self._counts, self._x, self._stale, self._shown, *([] if self._y is self._x else [self._y])]
        return sum(a.nbytes for a in arrays) + len(self._many) * (OVERHEAD + numbers)

    def make_room(self, groups: int) -> None:
        have = len(self._counts)
        if groups <= have:
            return
        size = max(groups, 2 * have)

        def grown(old: npt.NDArray[Any], axis: int, fill: float = 0) -> npt.NDArray[Any]:
            shape = list(old.shape)
            shape[axis] = size
            new = np.full(shape, fill, dtype=old.dtype) if fill else np.zeros(shape, dtype=old.dtype)
            new[(slice(None),) * axis + (slice(have),)] = old
            return new

        own = self._y is self._x
        self._counts, self._stale, self._x = grown(self._counts, 0), grown(self._stale, 0), grown(self._x, 0)
        self._y = self._x if own else grown(self._y, 0)
        self._shown = grown(self._shown, 1, np.nan if self._measure.function == "avg" else 0)

    def add(self, groups: Ints, x: Floats, y: Floats) -> None:
        known = np.flatnonzero(~np.isnan(x))
        if not len(known):
            return
        order = known[np.argsort(groups[known], kind="stable")]
        theirs = groups[order]
        begins = np.flatnonzero(np.r_[True, theirs[1:] != theirs[:-1]])
        sizes = np.diff(np.r_[begins, len(order)])
        touched = theirs[begins]
        before = self._counts[touched]
        self._counts[touched] += sizes
        self._stale[touched] = True
        few = before + sizes <= self._most
        chosen = np.repeat(few, sizes)
        place = (np.arange(len(order)) - np.repeat(begins - before, sizes))[chosen]
        self._x[theirs[chosen], place] = x[order[chosen]]
        if self._y is not self._x:
            self._y[theirs[chosen], place] = y[order[chosen]]
        for at in np.flatnonzero(~few).tolist():
            rows, group, had = order[begins[at] : begins[at] + sizes[at]], int(touched[at]), int(before[at])
            synopsis = self._many.get(group)
            if synopsis is None:
                synopsis = self._many[group] = self._measure.made()
                synopsis.add_many(None, (self._x[group, :had], self._y[group, :had]))
            synopsis.add_many(None, (x[rows], y[rows]))

    def part(self, groups: Ints) -> bytes:
        """What is held of some groups."""
        counts = self._counts[groups]
        few = np.where(counts > self._most, 0, counts)
        held = np.arange(self._most) < few[:, None]
        offsets = pa.array(np.r_[0, np.cumsum(few)].astype(np.int64))
        rows = [pa.LargeListArray.from_arrays(offsets, pa.array(v[groups][held])) for v in (self._x, self._y)]
        many = [s.to_bytes() if (s := self._many.get(g)) is not None else None for g in groups.tolist()]
        table = pa.Table.from_arrays([pa.array(counts), *rows, pa.array(many, pa.large_binary())], names=list("cxym"))
        return to_ipc(table)

    def absorb(self, groups: Ints, data: bytes) -> None:
        """Take groups as `part` gave them."""
        table = from_ipc(data).combine_chunks()
        counts = table.column(0).to_numpy()
        self._counts[groups] = counts
        self._stale[groups] = True
        few = np.where(counts > self._most, 0, counts)
        row, place = np.nonzero(np.arange(self._most) < few[:, None])
        for held, column in ((self._x, table.column(1)), (self._y, table.column(2))):
            held[groups[row], place] = column.combine_chunks().flatten().to_numpy()
        for at in np.flatnonzero(counts > self._most).tolist():
            self._many[int(groups[at])] = CorrelatedAggregate.from_bytes(table.column(3)[at].as_py())

    def shown(self, groups: int) -> Floats:
        """Value, lower and upper of each of so many groups."""
        stale = np.flatnonzero(self._stale)
        self._stale[stale] = False
        many = self._counts[stale] > self._most
        m = self._measure
        few = stale[~many]
        for begin in range(0, len(few), _AT_ONCE):
            part = few[begin : begin + _AT_ONCE]
            self._shown[:, part] = exactly(m.function, m.predicate, self._counts[part], self._x[part], self._y[part])
        for group in stale[many].tolist():
            self._shown[:, group] = self._many[group].estimate()
        return self._shown[:, :groups].copy()  # Arrow takes it as it is, and the next instant changes ours


class Correlations(Summarised):
    """The state of all groups since the landmark before `upto`; `between` is the time from one landmark to the next."""

    def __init__(
        self, shape: Shape[CorrelatedMeasure], schema: pa.Schema, upto: int, between: int, fingerprint: str = ""
    ) -> None:
        super().__init__(shape, schema, upto, fingerprint)
        self._schema = schema
        self._between = between
        self._begin()

    def _begin(self) -> None:
        """Forget all rows: those to come are since the landmark before `upto`."""
        self._landmark = self.upto // self._between * self._between
        self._groups = Groups(self._schema, self.shape.groups)
        self._kept = {m: _Kept(m, KEPT) for m in self.shape.measures}
        self._make_room()

    @property
    def bytes(self) -> int:
        return sum(k.nbytes for k in self._kept.values()) + self._groups.bytes

    @property
    def begin(self) -> int:
        return self._landmark

    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows, which come after all that were brought in, up to `upto`."""
        if self.upto - self._landmark >= self._between:
            self._begin()
        if len(moments) and (moments < self._landmark).any():
            kept = np.flatnonzero(moments >= self._landmark)
            rows, moments = rows.take(pa.array(kept)), moments[kept]
        if not len(moments):
            return
        if (moments[1:] < moments[:-1]).any():
            order = np.argsort(moments, kind="stable")
            rows, moments = rows.take(pa.array(order)), moments[order]
        groups = self._groups.find(rows, len(moments))
        self._make_room()
        missing = self._missing(groups, moments)
        if missing is not None:
            rows, groups = rows.filter(pa.array(missing)), groups[missing]
        self._taken += len(groups)
        numbers = {name: _numbers(rows.column(name)) for name in self.shape.needs}
        for measure, kept_of in self._kept.items():
            kept_of.add(groups, numbers[measure.x], numbers[measure.columns[-1]])
        if self.bytes > MOST:
            raise EngineError(
                f"correlated aggregates of {self.rows:,} groups take more than {MOST >> 20:,} MiB",
                hint="Set landmarks nearer to each other, choose rows in WHERE, or group by fewer columns.",
            )

    def content(self) -> pa.Table:
        """All groups with rows since the landmark, as they are at `upto`."""
        every = np.arange(self._groups.size)
        found = {m: k.shown(self._groups.size) for m, k in self._kept.items()}
        arrays = []
        for item in self.shape.items:
            if item.measure is None:
                arrays.append(self._groups.column(item.column, every))
                continue
            shown = found[item.measure][_SHOWN.index(item.shown)]
            arrays.append(pa.chunked_array([pa.array(shown, mask=np.isnan(shown))]))  # an average of nothing is NULL
        return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])

    def _make_room(self) -> None:
        super()._make_room()
        for kept in self._kept.values():
            kept.make_room(self._groups.size)

    # -- checkpoints -----------------------------------------------------------------------------------------------------

    @property
    def states(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        return self._groups.size

    def part(self, begin: int, end: int) -> pa.Table:
        numbers = np.arange(begin, max(begin, min(end, self._groups.size)))
        return self._packed(numbers, [], [kept.part(numbers) for kept in self._kept.values()])

    def _is_of_now(self, upto: int) -> bool:
        return upto >= self._landmark

    def _absorb(self, part: Part) -> None:
        for kept, state in zip(self._kept.values(), part.states, strict=True):
            kept.absorb(part.groups, state)


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Doubles; NaN where there is NULL. A NaN that was there is refused, as it is in no range."""
    found: Floats = integers(column.cast(pa.float64(), safe=False).fill_null(np.nan)).view(np.float64)
    if np.isnan(found).sum() > column.null_count:
        raise EngineError("a correlated aggregate met a value that is not a number", hint="Leave it out in WHERE.")
    return found
