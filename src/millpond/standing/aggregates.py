"""Which aggregates a standing query asks for, where a tree can answer them: of columns, grouped by columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.query.clauses import Refusal
from millpond.schema import Schema
from millpond.standing.kept.parts import Function, Measure, serves

FUNCTIONS: dict[type[exp.Expr], Function] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}


@dataclass(frozen=True)
class Item:
    """A selected item: `function` of `column`, or the key `column` itself. COUNT(*) has no column."""

    function: Function | None
    column: str | None


@dataclass(frozen=True)
class Aggregated:
    """What is selected, in order, and by which columns it is grouped."""

    items: tuple[Item, ...]
    keys: tuple[str, ...]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The different aggregates."""
        found = (Measure(item.function, item.column) for item in self.items if item.function is not None)
        return tuple(dict.fromkeys(found))

    def arranged(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """What a tree gives, in the order of the items and under their names."""
        measures = self.measures
        columns = []
        for item in self.items:
            if item.function is None:
                columns.append(rows.column(self.keys.index(str(item.column))))
            else:
                columns.append(rows.column(len(self.keys) + measures.index(Measure(item.function, item.column))))
        return pa.Table.from_arrays(columns, names=list(names))


def read_aggregates(tree: exp.Select, keys: Sequence[exp.Expr], columns: Schema) -> Aggregated | Refusal:
    """The aggregates of a SELECT from a table with these columns, or why a tree cannot answer them."""
    if not all(isinstance(key, exp.Column) for key in keys):
        return Refusal("it is grouped by more than columns")
    names = tuple(key.name for key in keys)
    items = []
    for selected in tree.expressions:
        node = selected.this if isinstance(selected, exp.Alias) else selected
        if isinstance(node, exp.Column):
            if node.name not in names:
                return Refusal("it selects a column that it is not grouped by")
            items.append(Item(None, node.name))
            continue
        item = _item(node)
        if item is None:
            return Refusal("it computes more than COUNT, SUM, AVG, MIN and MAX of columns")
        items.append(item)
    if not any(item.function for item in items) and not names:
        return Refusal("it aggregates nothing")
    found = Aggregated(tuple(items), names)
    schema = arrow_schema(columns)
    for measure in found.measures:
        if not serves(measure.function, None if measure.column is None else schema.field(measure.column).type):
            return Refusal(f"no tree is kept for {measure.function.upper()} of {measure.column}")
    return found


def _item(node: exp.Expr) -> Item | None:
    function = FUNCTIONS.get(type(node))
    if function is None or any(v for k, v in node.args.items() if k not in ("this", "big_int")):
        return None
    if function == "count" and isinstance(node.this, exp.Star):
        return Item("count", None)
    if function == "count" and isinstance(node.this, exp.Literal):
        return Item("count", None)  # COUNT(1)
    return Item(function, node.this.name) if isinstance(node.this, exp.Column) else None
