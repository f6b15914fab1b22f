"""What a query of groups and measured values asks, when its groups are held as summaries instead of rows.

Groups and measures are of values of a row: of columns, or of what is computed from them. A column goes by its name, what is
computed by its text behind an underscore, with which no column of a table begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from sqlglot import exp

from millpond.network.plan.prepared import Prepared
from millpond.query.instant import names_instant
from millpond.schema import DataType
from millpond.sql.statements import Window
from millpond.sql.translate import NotOnDuckDB, types_on_duckdb

_NOT_OF_A_ROW = (exp.AggFunc, exp.Query, exp.Window, exp.Explode, exp.Star)
REFUSED = ("having", "order", "limit", "offset", "distinct", "with_", "laterals", "joins", "qualify", "windows")


class Measuring(Protocol):
    """What a summary is of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The values of a row that it looks at."""


M = TypeVar("M", bound=Measuring)


@dataclass(frozen=True)
class Item(Generic[M]):
    """What is selected: a value of a group (`measure` is None), or `shown` of a measure: value, lower or upper."""

    column: str
    measure: M | None = None
    shown: str = ""


@dataclass(frozen=True)
class Shape(Generic[M]):
    """`nodes` says what the names of values stand for."""

    groups: tuple[str, ...]
    items: tuple[Item[M], ...]
    nodes: Mapping[str, exp.Expr] = field(default_factory=dict, compare=False, repr=False)

    @property
    def measures(self) -> list[M]:
        return list(dict.fromkeys(i.measure for i in self.items if i.measure is not None))

    @property
    def needs(self) -> list[str]:
        """The values that are measured."""
        return list(dict.fromkeys(c for m in self.measures for c in m.columns))

    @property
    def names(self) -> list[str]:
        """The values of a row that matter."""
        return list(dict.fromkeys([*self.groups, *self.needs]))


class Values:
    """The values of a row that a query names, and their types."""

    def __init__(self, prepared: Prepared, tree: exp.Select) -> None:
        self.nodes: dict[str, exp.Expr] = {}
        self._prepared = prepared
        self._tree = tree

    def name(self, node: exp.Expr) -> str | None:
        """What a value goes by; None if it is not one of a row."""
        if node.find(*_NOT_OF_A_ROW) is not None or not any(node.find_all(exp.Column)):
            return None
        if any(f.kind != "scalar" for f in self._prepared.bound.functions.values()):
            return None
        name = node.name if isinstance(node, exp.Column) else f"_{node.sql(dialect='spark')}"
        self.nodes.setdefault(name, node)
        return name

    def type(self, name: str) -> DataType | None:
        """None if DuckDB cannot compute it as Spark would."""
        node = self.nodes[name]
        columns = self._prepared.streams[0].columns
        if isinstance(node, exp.Column):
            return columns.find(name, "it").type if name in columns else None
        rows = ungrouped(self._tree, {name: node})
        try:
            return types_on_duckdb(rows, self._prepared.bound.functions)[0]
        except NotOnDuckDB:
            return None


def ungrouped(tree: exp.Select, nodes: Mapping[str, exp.Expr]) -> exp.Select:
    """The rows whose groups are asked for: their values, by their names, under the same conditions."""
    copy = tree.copy()
    copy.set("group", None)
    copy.set("expressions", [exp.alias_(node.copy(), name, quoted=True) for name, node in nodes.items()])
    return copy


def shape_of_items(
    prepared: Prepared, tree: exp.Expr, measured: Callable[[exp.Expr, Values], Item[M] | None]
) -> Shape[M] | None:
    """What a query asks, if it selects nothing but values of its groups and what is `measured`; None if it does not."""
    keys = keys_of(prepared, tree)
    if keys is None or not isinstance(tree, exp.Select):
        return None
    values = Values(prepared, tree)
    groups = [values.name(key) for key in keys]
    if any(g is None or values.type(g) is None for g in groups):
        return None
    items = []
    for node in (e.unalias() for e in tree.selects):
        name = values.name(node)
        items.append(Item[M](name) if name is not None and name in groups else measured(node, values))
    found = tuple(i for i in items if i is not None)
    if len(found) < len(items) or all(i.measure is None for i in found):
        return None
    shape = Shape(tuple(dict.fromkeys(g for g in groups if g is not None)), found)
    return replace(shape, nodes={name: values.nodes[name] for name in shape.names})


def keys_of(prepared: Prepared, tree: exp.Expr) -> list[exp.Expr] | None:
    """By what a query over one stream is grouped, nothing if it is one group; None if it has any other clause but WHERE, or
    sends anything but its whole result. `tree` is the query as it was bound, or as it was written."""
    use = prepared.streams[0]
    if not isinstance(tree, exp.Select) or len(prepared.bound.uses) > 1 or prepared.query.form != "rstream":
        return None
    if not isinstance(tree.args["from_"].this, exp.Table) or any(tree.args.get(c) for c in REFUSED):
        return None
    if len(list(tree.find_all(exp.Select))) > 1 or use.previous:
        return None
    if names_instant(tree):
        return None
    group = tree.args.get("group")
    keys = group.expressions if group is not None else []
    if group is not None and (not keys or any(v for k, v in group.args.items() if k != "expressions")):
        return None
    return list(keys)


def by_time(window: Window | None) -> bool:
    """Whether a window holds all rows from some time on, which moves."""
    return window is not None and not window.grows and not window.now and window.rows is None
