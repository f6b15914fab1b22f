"""What an aggregate tree is asked, and its answer made of the nodes that were found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.standing.kept.groups import GroupNames
from millpond.standing.kept.levels import Level
from millpond.standing.kept.parts import (
    LOST,
    Array,
    Measure,
    Part,
    exact_sum,
    is_wide,
    parts_of,
    rounded_double,
    shown,
    values_of,
    whole_sums,
    with_odd,
)
from millpond.standing.kept.segments import Leaves

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """What is asked: measures, and the columns that rows are grouped by."""

    schema: pa.Schema
    measures: tuple[Measure, ...]
    keys: tuple[str, ...] = ()
    kinds: tuple[Part, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", parts_of(self.measures, self.schema))

    def leaves(self, rows: pa.Table, times: Ints, seqs: Ints, codes: npt.NDArray[np.int32] | None) -> Leaves:
        columns = dict.fromkeys(m.column for m in self.measures if m.column is not None)
        read = {m.column for m in self.measures if m.function != "count"}
        values = {name: values_of(rows.column(name), wanted=name in read) for name in columns}
        return Leaves(np.array(times, dtype=np.int64), np.array(seqs, dtype=np.int64), codes, values)

    def at(self, name: str, column: str | None) -> int:
        """Which of the parts it is."""
        return next(i for i, kind in enumerate(self.kinds) if (kind.name, kind.column) == (name, column))


def shown_level(
    shape: Shape, groups: GroupNames, level: Level | None, rows: Callable[[], Sequence[Leaves]]
) -> pa.Table:
    """The answer: keys and then measures. `level` has an entry for each group; None: there are no rows.

    `rows` gives all rows of the window, for what nodes cannot tell.
    """
    size = (0 if shape.keys else 1) if level is None else len(level.parts[0])
    codes = np.zeros(size, dtype=np.int32) if level is None or level.codes is None else level.codes
    columns: list[pa.Array | pa.ChunkedArray] = [*groups.values(codes)]
    for measure in shape.measures:
        kind = None if measure.column is None else shape.schema.field(measure.column).type
        if level is None:
            nothing = np.full(size, None if kind == pa.string() else 0)
            columns.append(shown(measure, kind, np.zeros(size, dtype=np.int64), nothing))
            continue
        count = level.parts[shape.at("rows" if measure.column is None else "valid", measure.column)]
        columns.append(shown(measure, kind, count, _value(shape, measure, kind, level, rows)))
    names = [*shape.keys, *(str(i) for i in range(len(shape.measures)))]
    return pa.Table.from_arrays(columns, names=names)


def _value(
    shape: Shape, measure: Measure, kind: pa.DataType, level: Level, rows: Callable[[], Sequence[Leaves]]
) -> Array | None:
    if measure.function == "count":
        return None
    if measure.function in ("min", "max"):
        return level.parts[shape.at(measure.function, measure.column)]
    sums = level.parts[shape.at("sum", measure.column)]
    if pa.types.is_floating(kind):
        return _doubles(shape, str(measure.column), level, sums, rows)
    return np.array(whole_sums(sums), dtype=object) if is_wide(kind) else sums


def _doubles(
    shape: Shape, column: str, level: Level, sums: Array, rows: Callable[[], Sequence[Leaves]]
) -> npt.NDArray[np.float64]:
    """Sums of doubles. Of a group with a double that is not in the sum, the rows are added up one by one."""
    flags = level.parts[shape.at("odd", column)]
    totals = [rounded_double(total) for total in whole_sums(sums)]
    lost = np.flatnonzero(flags & LOST)
    if len(lost):
        leaves = rows()
        for i in lost.tolist():
            numbers: list[float] = []
            for each in leaves:
                values = each.values[column]
                chosen = np.isfinite(values.numbers)
                if values.valid is not None:
                    chosen &= values.valid
                if level.codes is not None:
                    chosen &= each.codes == level.codes[i]
                numbers += values.numbers[chosen].tolist()
            totals[i] = exact_sum(numbers)
    return np.array([with_odd(t, int(f)) for t, f in zip(totals, flags, strict=True)], dtype=np.float64)
