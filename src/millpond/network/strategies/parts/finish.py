"""The last step of a query whose groups are held as numbers: HAVING, and what is computed from aggregates, by the engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import integers
from millpond.network.engine.engine import Engine
from millpond.network.plan.running import GROUPS, PLACE

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Finishing:
    """A `Finish` of running aggregates, by an engine."""

    def __init__(self, text: str, engine: Engine) -> None:
        self._text = text
        self._engine = engine

    def __call__(self, held: pa.Table) -> tuple[pa.Table, Ints]:
        given = held.append_column(PLACE, pa.array(np.arange(held.num_rows)))
        found = self._engine.run(self._text, {GROUPS: given}).sort_by(PLACE)
        return found.drop_columns([PLACE]), integers(found.column(PLACE))

    def differences(self, one: tuple[pa.Table, Bools], other: tuple[pa.Table, Bools]) -> tuple[pa.Table, Ints]:
        before, after = self._rows(*one), self._rows(*other)
        table, places = self(other[0])
        shown = [i for i, place in enumerate(places.tolist()) if place in after and before.get(place) != after[place]]
        return table.take(pa.array(shown, pa.int64())), places[shown]

    def _rows(self, held: pa.Table, there: Bools) -> dict[int, list[str]]:
        """The results by the places of what they are made of. As texts: to SQL all NaN are one value."""
        table, places = self(held)
        columns = [[repr(v) for v in c.to_pylist()] for c in table.columns]
        rows = zip(*columns, strict=True) if columns else iter(())
        return {p: list(row) for p, row in zip(places.tolist(), rows, strict=True) if there[p]}
