"""What a query of groups and measured columns asks, when its groups are held as summaries instead of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sqlglot import exp

from millpond.network.prepare import Prepared
from millpond.query.bind import INSTANT, INSTANT_TEXT
from millpond.sql.statements import Window

SLICES = 16
"""In so many parts a window is read from history, so that it never stands in memory as a whole."""
_REFUSED = ("having", "order", "limit", "offset", "distinct", "with_", "laterals", "joins", "qualify", "windows")


class Measuring(Protocol):
    """What a summary is of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row that it looks at."""


M = TypeVar("M", bound=Measuring)


@dataclass(frozen=True)
class Item(Generic[M]):
    """A selected column: a group's (`measure` is None), or `shown` of a measure: value, lower or upper."""

    column: str
    measure: M | None = None
    shown: str = ""


@dataclass(frozen=True)
class Shape(Generic[M]):
    groups: tuple[str, ...]
    items: tuple[Item[M], ...]

    @property
    def measures(self) -> list[M]:
        return list(dict.fromkeys(i.measure for i in self.items if i.measure is not None))

    @property
    def needs(self) -> list[str]:
        """The columns that are measured."""
        return list(dict.fromkeys(c for m in self.measures for c in m.columns))

    @property
    def names(self) -> list[str]:
        """The columns of a row that matter."""
        return list(dict.fromkeys([*self.groups, *self.needs]))


def shape_of_items(
    prepared: Prepared, tree: exp.Expr, measured: Callable[[exp.Expr], Item[M] | None]
) -> Shape[M] | None:
    """What a query asks, if it selects nothing but columns of its groups and what is `measured`; None if it does not."""
    groups = groups_of(prepared, tree)
    if groups is None or not isinstance(tree, exp.Select):
        return None
    nodes = [e.unalias() for e in tree.selects]
    columns = [Item[M](n.name) if isinstance(n, exp.Column) and n.name in groups else None for n in nodes]
    items = [c or measured(n) for n, c in zip(nodes, columns, strict=True)]
    found = tuple(i for i in items if i is not None)
    if len(found) < len(items) or all(i.measure is None for i in found):
        return None
    return Shape(groups, found)


def groups_of(prepared: Prepared, tree: exp.Expr) -> tuple[str, ...] | None:
    """The columns by which a query over one stream is grouped, none if it is one group; None if it has any other clause but
    WHERE, or sends anything but its whole result. `tree` is the query as it was bound, or as it was written."""
    use = prepared.streams[0]
    if not isinstance(tree, exp.Select) or len(prepared.bound.uses) > 1 or prepared.query.form != "rstream":
        return None
    if not isinstance(tree.args["from_"].this, exp.Table) or any(tree.args.get(c) for c in _REFUSED):
        return None
    if len(list(tree.find_all(exp.Select))) > 1 or use.previous:
        return None
    if any(node.this in (str(INSTANT), INSTANT_TEXT) for node in tree.find_all(exp.Literal)):
        return None
    group = tree.args.get("group")
    keys = group.expressions if group is not None else []
    if group is not None and (not keys or any(v for k, v in group.args.items() if k != "expressions")):
        return None
    return None if any(not isinstance(k, exp.Column) for k in keys) else tuple(k.name for k in keys)


def by_time(window: Window | None) -> bool:
    """Whether a window holds all rows from some time on, which moves."""
    return window is not None and not window.grows and not window.now and window.rows is None


def stretches(begin: int, upto: int) -> Iterator[tuple[int, int]]:
    """A time cut into at most SLICES parts, in order; both ends belong to each."""
    step = max(1, -(-(upto - begin + 1) // SLICES))
    for low in range(begin, upto + 1, step):
        yield low, min(low + step - 1, upto)
