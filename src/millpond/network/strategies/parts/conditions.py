"""The WHERE of a continuous query as a filter of batches, also where it compares what only the engine can compute.

    SELECT k, t FROM r [NOW] WHERE k % 100 = 7

and ninety-nine more with other constants. `k % 100` is nothing that a predicate reads. But it is a value of each row, so it
is asked of the engine as a column, once for a batch, whoever needs it; what is left is a comparison of a column with a
constant. To ask the engine costs more than a millisecond whatever the rows are; to compare a thousand numbers takes a few
microseconds.

Invariant. A value is taken only if the engine gives it for all rows of a batch, with the type that Spark has. Otherwise (one
row divides by zero, say, which the rest of the condition may leave out) the query is asked alone, as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_type, integers
from millpond.errors import MillpondError
from millpond.network.engine.engine import Engine
from millpond.network.plan.prepared import Prepared
from millpond.predicate.columns import Bools, Columns
from millpond.predicate.form import Always
from millpond.predicate.vector import Filter
from millpond.query.instant import names_instant
from millpond.schema import INTEGERS, DataType
from millpond.sql.predicates import OPERATORS, read_predicate
from millpond.sql.translate import NotOnDuckDB, to_duckdb, types_on_duckdb

_ASKED, _VALUE, _NUMBER = "__asked", "__value", "__number"
_TYPES = frozenset([*INTEGERS, "FLOAT", "DOUBLE", "BOOLEAN", "STRING", "DATE", "TIMESTAMP"])
_OF_ONE = (exp.Between, exp.In, exp.Like, exp.Is)  # comparisons of what is before the word
_OF_MANY_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.Explode)


class Batch(Protocol):
    """Rows of which a condition is asked."""

    columns: Columns

    @property
    def size(self) -> int:
        """How many rows."""

    def rows(self, names: Iterable[str], places: npt.NDArray[np.int64] | None) -> pa.Table:
        """Some of the rows (None: all), with these columns."""


@dataclass(frozen=True)
class Computed:
    """A value of each row: `text` selects it, and the number of the row, from rows with the columns `needs`. It is known by
    its text."""

    text: str
    needs: tuple[str, ...]
    type: DataType

    @classmethod
    def of(cls, value: exp.Expr) -> Self | None:
        """An expression over the rows of one stream, if it is more than a column and the engine can be asked for it."""
        if isinstance(value, exp.Column) or value.find(exp.Column) is None or value.find(*_OF_MANY_ROWS) is not None:
            return None
        needs = tuple(sorted({c.name for c in value.find_all(exp.Column)}))
        number = exp.column(exp.to_identifier(_NUMBER, quoted=True))
        number.type = exp.DataType.build("INT", dialect="spark")
        items = [exp.alias_(value.copy(), _VALUE, quoted=True), exp.alias_(number, _NUMBER, quoted=True)]
        asked = exp.to_identifier(_ASKED, quoted=True)
        source = exp.From(this=exp.Table(this=asked, alias=exp.TableAlias(this=asked.copy())))
        select = exp.Select(expressions=items, from_=source)
        for column in select.find_all(exp.Column):
            column.set("table", asked.copy())
        try:
            text, (kind, _) = to_duckdb(select), types_on_duckdb(select)
        except NotOnDuckDB:
            return None
        return cls(text, needs, kind) if kind.name in _TYPES else None

    def over(self, engine: Engine, batch: Batch) -> pa.ChunkedArray | None:
        """The value of each row of a batch, asked for once; None if the engine does not give it for all of them."""
        given = batch.columns.given
        if self.text not in given:
            given[self.text] = self._asked(engine, batch)
        return given[self.text]

    def _asked(self, engine: Engine, batch: Batch) -> pa.ChunkedArray | None:
        numbers = pa.array(np.arange(batch.size, dtype=np.int32))
        rows = batch.rows(self.needs, None).append_column(_NUMBER, numbers)
        try:
            found = engine.run(self.text, {_ASKED: rows})
            order = integers(found.column(_NUMBER))
            if found.num_rows != batch.size:
                return None
            if (order[1:] < order[:-1]).any():
                found = found.take(pa.array(np.argsort(order)))
            return found.column(_VALUE).cast(arrow_type(self.type))
        except (MillpondError, pa.ArrowInvalid):
            return None


@dataclass(frozen=True)
class Condition:
    """`filter` tells which rows match once their columns have the `computed` values; None if only the engine can tell."""

    filter: Filter | None
    computed: tuple[Computed, ...] = ()

    @classmethod
    def of(cls, prepared: Prepared, tree: exp.Select) -> Condition:
        """The WHERE of a SELECT from the only stream of a query."""
        where = tree.args.get("where")
        if where is None:
            return cls(Filter(Always()))
        predicate = read_predicate(where.this)
        if predicate is not None:
            return cls(Filter(predicate))
        if prepared.bound.functions or names_instant(where):
            return cls(None)
        copy = where.copy()
        computed = tuple(_take_out(copy.this))
        predicate = read_predicate(copy.this) if computed else None
        return cls(None) if predicate is None else cls(Filter(predicate), computed)

    @property
    def always(self) -> bool:
        """Whether every row matches."""
        return self.filter is not None and isinstance(self.filter.predicate, Always)

    def over(self, engine: Engine, batch: Batch) -> Bools | None:
        """Which rows of a batch match; None if only the engine can tell."""
        if self.filter is None:
            return None
        if any(value.over(engine, batch) is None for value in self.computed):
            return None
        return self.filter(batch.columns)


def _take_out(condition: exp.Expr) -> Iterator[Computed]:
    """Put columns in place of what is compared and cannot be read."""
    for leaf in list(_comparisons(condition)):
        if read_predicate(leaf) is not None:
            continue
        for side in [leaf.this] if isinstance(leaf, _OF_ONE) else [leaf.this, leaf.expression]:
            value = Computed.of(side.unnest())
            if value is not None:
                column = exp.Column(this=exp.to_identifier(value.text, quoted=True))
                column.type = exp.DataType.build(str(value.type), dialect="spark")
                side.replace(column)
                yield value


def _comparisons(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        yield from _comparisons(node.left)
        yield from _comparisons(node.right)
    elif isinstance(node, exp.Not):
        yield from _comparisons(node.this)
    elif isinstance(node, (*OPERATORS, *_OF_ONE)):
        yield node
