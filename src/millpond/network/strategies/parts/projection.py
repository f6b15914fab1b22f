"""SELECT and WHERE over rows, each for itself: which rows, and what of them, without asking the engine where that is simple."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import integers
from millpond.catalog import INSTANT, StreamingTable
from millpond.network.engine.engine import Engine
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.parts.conditions import Computed, Condition
from millpond.predicate.columns import Columns
from millpond.query.clauses import Refusal, selected_columns
from millpond.query.instant import names_instant
from millpond.query.local import with_relations
from millpond.sql.translate import NotOnDuckDB, to_duckdb

Moments = npt.NDArray[np.int64]
_SHARED_ROWS = (
    50_000  # rows of a batch up to which what is selected is computed of all of them: others may select it too
)
MOMENT = "__moment"  # the instant, as the last column of a projection's text


class SeenRows(Protocol):
    """Rows, each seen at some instant."""

    columns: Columns
    moments: Moments

    @property
    def size(self) -> int:
        """How many rows."""

    def rows(self, names: Iterable[str], places: npt.NDArray[np.int64] | None) -> pa.Table:
        """Some of the rows (None: all), with these columns."""


@dataclass(frozen=True)
class Projection:
    """`text` selects what a query selects, called `names`, and MOMENT last, from `relation`, which has it as a column.
    `needs` are the columns it names. `plain` are the selected columns if nothing else is selected. `items` are what is
    selected, if each is a column or a value of the row that can be computed for all queries at once."""

    relation: str
    text: str
    condition: Condition
    plain: tuple[str, ...] | None
    needs: tuple[str, ...]
    names: tuple[str, ...]
    items: tuple[str | Computed, ...] | None

    @classmethod
    def of(cls, prepared: Prepared, tree: exp.Select) -> Projection | Refusal:
        """What `tree`, a SELECT with WHERE and nothing more, makes of the rows of a query's only stream."""
        use = prepared.streams[0]
        table = use.table
        assert isinstance(table, StreamingTable)
        copy = tree.copy()
        moment = exp.Column(
            this=exp.to_identifier(MOMENT, quoted=True), table=exp.to_identifier(use.alias, quoted=True)
        )
        moment.type = exp.DataType.build(str(table.columns.find(table.time_column, table.name).type), dialect="spark")
        copy.append("expressions", exp.alias_(moment, MOMENT, quoted=True))
        try:
            text = to_duckdb(copy, prepared.bound.functions)
        except NotOnDuckDB as refusal:
            return Refusal(f"{refusal} in a row")
        columns = selected_columns(tree)
        return cls(
            use.name,
            text,
            Condition.of(prepared, tree),
            tuple(c.name for c in columns if c is not None) if None not in columns else None,
            tuple(dict.fromkeys(c.name for c in tree.find_all(exp.Column))),
            tuple(e.alias_or_name for e in tree.expressions),
            None if prepared.bound.functions or names_instant(tree) else _items(tree),
        )

    def stamped(self, engine: Engine, batch: SeenRows, nothing: pa.Table) -> pa.Table:
        """What is selected, with the moments of the rows as the last column; `nothing` is a table of that schema."""
        if not batch.size:
            return nothing
        known, places = self._places(engine, batch)
        if places is not None and not len(places):
            return nothing
        schema = nothing.schema
        moments = pa.array(batch.moments if places is None else batch.moments[places])
        stamps = moments.cast(schema.field(INSTANT).type)
        found = self._columns(engine, batch, places) if known else None
        if found is not None:
            made = pa.Table.from_arrays([*found, stamps], names=schema.names)
            return made if made.schema.equals(schema) else made.cast(schema)
        rows = batch.rows(self.needs, places).append_column(MOMENT, stamps)
        return self._ask(engine, rows).rename_columns(schema.names).cast(schema)

    def _columns(
        self, engine: Engine, batch: SeenRows, places: npt.NDArray[np.int64] | None
    ) -> list[pa.ChunkedArray] | None:
        """What is selected of some rows; None if the engine is to be asked for these rows alone."""
        if self.plain is not None:
            rows = batch.rows(dict.fromkeys(self.plain), places)
            return [rows.column(name) for name in self.plain]
        if self.items is None or batch.size > _SHARED_ROWS:
            return None
        found: list[pa.ChunkedArray] = []
        taken = None if places is None else pa.array(places)
        for item in self.items:
            value = batch.rows([item], None).column(0) if isinstance(item, str) else item.over(engine, batch)
            if value is None:
                return None
            found.append(value if taken is None else value.take(taken))
        return found

    def values(self, engine: Engine, batch: SeenRows) -> tuple[pa.Table, Moments]:
        """What is selected, under `names`, and the moments of these rows."""
        if not batch.size:
            return batch.rows(self.plain or (), None), batch.moments
        if self.plain is None:
            return self.computed(engine, batch)
        known, places = self._places(engine, batch)
        if not known:
            return self.computed(engine, batch)
        if places is None:
            return batch.rows(self.plain, None), batch.moments
        return batch.rows(self.plain, places), batch.moments[places]

    def _places(self, engine: Engine, batch: SeenRows) -> tuple[bool, npt.NDArray[np.int64] | None]:
        """Whether it is known which rows fulfil WHERE, and their places; None if there is no WHERE, or only the engine knows."""
        if self.condition.always:
            return True, None
        found = self.condition.over(engine, batch)
        return found is not None, None if found is None else np.flatnonzero(found)

    def computed(self, engine: Engine, batch: SeenRows) -> tuple[pa.Table, Moments]:
        """The same, by the engine."""
        rows = batch.rows(self.needs, None).append_column(MOMENT, pa.array(batch.moments))
        found = self._ask(engine, rows)
        count = len(self.names)
        return found.select(range(count)).rename_columns(list(self.names)), integers(found.column(count))

    def _ask(self, engine: Engine, rows: pa.Table) -> pa.Table:
        name = self.relation
        text = with_relations([f"{name} AS NOT MATERIALIZED (SELECT * FROM {name}_rows)"], self.text)
        return engine.run(text, {f"{name}_rows": rows})


def _items(tree: exp.Select) -> tuple[str | Computed, ...] | None:
    found: list[str | Computed] = []
    for item in tree.expressions:
        value = item.unalias().unnest()
        computed = value.name if isinstance(value, exp.Column) else Computed.of(value)
        if computed is None:
            return None
        found.append(computed)
    return tuple(found)
