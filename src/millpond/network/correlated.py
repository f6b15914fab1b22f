"""Correlated aggregates since a landmark: each group held as a few buckets instead of its rows.

    SELECT origin, CORRELATED_COUNT(duration > AVG(duration)) AS n FROM calls [LANDMARK DAY] GROUP BY origin SAMPLE REALTIME

Invariant. `Correlations` has taken in exactly the rows from the last landmark at `upto` up to `upto`, in order of time and
arrival. What it shows follows from these rows and their order alone: batches and restarts change nothing, for a synopsis of the
same rows is the same in any batches, and a landmark forgets all. Which groups appear is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import integers
from millpond.errors import EngineError
from millpond.network.groups import Groups
from millpond.network.prepare import Prepared
from millpond.network.shapes import Item, Shape, groups_of, stretches
from millpond.query.correlated import End, mark_of
from millpond.schema import Schema
from millpond.synopses import CorrelatedAggregate
from millpond.synopses.correlated import Limit, Predicate

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST = 200_000
"""Synopses of a query in one process, one for each group and aggregate since the landmark: about 0.6 GB."""
OVERHEAD = 2_500
"""Bytes that the objects of a synopsis take besides their numbers."""
_SHOWN = ("value", "lower", "upper")


@dataclass(frozen=True)
class Correlation:
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


def correlated_shape(prepared: Prepared) -> Shape[Correlation] | None:
    """What a query asks that synopses can answer; None if it is of another form."""
    tree, use = prepared.bound.written, prepared.streams[0]
    if tree is None or use.window is None or use.window.landmark is None:
        return None
    groups = groups_of(prepared, tree)
    if groups is None:
        return None
    items = [_item(e.unalias(), groups, use.columns) for e in tree.selects]
    found = tuple(i for i in items if i is not None)
    if len(found) < len(items) or all(i.measure is None for i in found):
        return None
    return Shape(groups, found)


def _item(node: exp.Expr, groups: tuple[str, ...], columns: Schema) -> Item[Correlation] | None:
    if isinstance(node, exp.Column):
        return Item(node.name) if node.name in groups else None
    mark = mark_of(node)
    if mark is None:
        return None
    for value in (mark.x, mark.y):
        if not isinstance(value, exp.Column) or value.name not in columns:
            return None
        kind = columns.find(value.name, "it").type
        if not kind.is_integer and kind.name not in ("FLOAT", "DOUBLE"):
            return None
    predicate = Predicate(mark.independent, _limit(mark.low), _limit(mark.high))  # type: ignore[arg-type]
    measure = Correlation(mark.function, predicate, mark.x.name, mark.y.name, mark.buckets)
    return Item("", measure, mark.shown)


def _limit(end: End | None) -> Limit | None:
    return None if end is None else Limit(end.factor, end.offset, end.closed)


class Correlations:
    """The synopses of all groups since the landmark before `upto`; `between` is the time from one landmark to the next."""

    def __init__(self, shape: Shape[Correlation], schema: pa.Schema, upto: int, between: int) -> None:
        self.shape = shape
        self.upto = upto
        self._schema = schema
        self._between = between
        self._begin()

    def _begin(self) -> None:
        """Forget all rows: those to come are since the landmark before `upto`."""
        self._landmark = self.upto // self._between * self._between
        self._groups = Groups(self._schema, self.shape.groups)
        # Of each group, the numbers as they are shown, and its synopsis once it has an x.
        self._found: dict[Correlation, Floats] = {m: np.empty((len(_SHOWN), 0)) for m in self.shape.measures}
        self._made: dict[Correlation, list[CorrelatedAggregate | None]] = {m: [] for m in self.shape.measures}
        self._changed: dict[Correlation, set[int]] = {m: set() for m in self.shape.measures}
        self._make_room()

    @property
    def rows(self) -> int:
        return self._groups.size

    @property
    def bytes(self) -> int:
        made = sum(s.nbytes + OVERHEAD for each in self._made.values() for s in each if s is not None)
        return made + sum(f.nbytes for f in self._found.values()) + self._groups.bytes

    def past(self) -> Iterator[tuple[int, int]]:
        """The stretches of time that the window at `upto` has, in order; both ends belong to them."""
        return stretches(self._landmark, self.upto)

    def take_in(self, rows: pa.Table, moments: Ints) -> None:
        """Bring in rows, which come after all that were brought in, up to `upto`."""
        if self.upto - self._landmark >= self._between:
            self._begin()
        if len(moments) and (moments < self._landmark).any():
            kept = np.flatnonzero(moments >= self._landmark)
            rows, moments = rows.take(pa.array(kept)) if rows.num_columns else rows, moments[kept]
        if not len(moments):
            return
        if (moments[1:] < moments[:-1]).any():
            rows = rows.take(pa.array(np.argsort(moments, kind="stable")))
        groups = self._groups.find(rows, len(moments))
        most = MOST // len(self.shape.measures)
        if self._groups.size > most:
            raise EngineError(
                f"there are more than {most:,} groups since the last landmark",
                detail="So many correlated aggregates are held of a query.",
                hint="Set landmarks nearer to each other, choose rows in WHERE, or group by fewer columns.",
            )
        self._make_room()
        numbers = {name: _numbers(rows.column(name)) for name in self.shape.needs}
        for measure in self.shape.measures:
            x, y = numbers[measure.x], numbers[measure.columns[-1]]
            known = np.flatnonzero(~np.isnan(x))
            made = self._made[measure]
            order = known[np.argsort(groups[known], kind="stable")]
            theirs = groups[order]
            begins = np.flatnonzero(np.r_[len(order) > 0, theirs[1:] != theirs[:-1]])
            for begin, end in itertools.pairwise([*begins.tolist(), len(order)]):
                group, chosen = int(theirs[begin]), order[begin:end]
                synopsis = made[group]
                if synopsis is None:
                    synopsis = made[group] = measure.made()
                synopsis.add_many(None, (x[chosen], y[chosen]))
                self._changed[measure].add(group)

    def content(self) -> pa.Table:
        """All groups with rows since the landmark, as they are at `upto`."""
        for measure, changed in self._changed.items():
            found = self._found[measure]
            for group in changed:
                synopsis = self._made[measure][group]
                assert synopsis is not None
                found[:, group] = synopsis.estimate()
            changed.clear()
        every = np.arange(self._groups.size)
        arrays = []
        for item in self.shape.items:
            if item.measure is None:
                arrays.append(self._groups.column(item.column, every))
                continue
            shown = self._found[item.measure][_SHOWN.index(item.shown)]
            arrays.append(pa.chunked_array([pa.array(shown, mask=np.isnan(shown))]))  # an average of nothing is NULL
        return pa.Table.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])

    def _make_room(self) -> None:
        """A place for each new group, which has no x so far."""
        for measure, found in self._found.items():
            new = self._groups.size - found.shape[1]
            empty = np.full((len(_SHOWN), new), np.nan if measure.function == "avg" else 0.0)
            self._found[measure] = np.concatenate([found, empty], axis=1)
            self._made[measure].extend([None] * new)


def _numbers(column: pa.ChunkedArray) -> Floats:
    """Doubles; NaN where there is NULL. A NaN that was there is refused, as it is in no range."""
    found: Floats = integers(column.cast(pa.float64(), safe=False).fill_null(np.nan)).view(np.float64)
    if np.isnan(found).sum() > column.null_count:
        raise EngineError("a correlated aggregate met a value that is not a number", hint="Leave it out in WHERE.")
    return found
