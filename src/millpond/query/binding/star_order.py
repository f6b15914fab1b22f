"""The order of the columns that `a.*` shows beside USING and NATURAL JOIN: not that of the table.

Spark puts the merged columns before the others. Those it has merged away are hidden, and `a.*` still finds them, first of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

_Column = tuple[str, str]  # the relation that `a.*` finds it by, none if it is merged of two; and its name


def merges(select: exp.Expr) -> bool:
    """Whether a SELECT has such joins."""
    return any(join.args.get("using") or join.method.upper() == "NATURAL" for join in select.args.get("joins") or ())


def star_order(select: exp.Expr, names: Callable[[str], Sequence[str] | None]) -> Callable[[str], list[str]] | None:
    """Gives the names that `a.*` shows, in lower case and in order; None if that is not known. `names`: those of a relation."""
    source = select.args.get("from_")
    joins = select.args.get("joins") or ()
    if source is None or select.args.get("laterals") or any(not j.this.alias_or_name for j in joins):
        return None
    shown = _of(source.this.alias_or_name, names)
    hidden: list[_Column] = []
    for join in joins:
        right = _of(join.this.alias_or_name, names)
        if shown is None or right is None:
            return None
        shown, gone = _joined(join, shown, right)
        hidden = [*gone, *hidden]
    if shown is None:
        return None
    found = [*hidden, *shown]
    return lambda relation: [name for of, name in found if of == relation.lower()]


def _of(relation: str, names: Callable[[str], Sequence[str] | None]) -> list[_Column] | None:
    found = names(relation)
    return None if found is None else [(relation.lower(), name.lower()) for name in found]


def _joined(join: exp.Join, left: list[_Column], right: list[_Column]) -> tuple[list[_Column], list[_Column]]:
    """The columns that a join shows, and those it hides."""
    exists = join.kind.upper() in ("SEMI", "ANTI")
    keys = [each.name.lower() for each in join.args.get("using") or ()]
    if join.method.upper() == "NATURAL":
        there = {name for _, name in right}
        keys = [name for _, name in left if name in there]
    of_left = [next(c for c in left if c[1] == key) for key in keys if any(c[1] == key for c in left)]
    of_right = [next(c for c in right if c[1] == key) for key in keys if any(c[1] == key for c in right)]
    rest = [c for c in left if c not in of_left]
    if exists:
        return [*of_left, *rest], []
    rest += [c for c in right if c not in of_right]
    side = join.side.upper() if keys else ""
    if side == "FULL":
        return [*(("", key) for key in keys), *rest], [*of_left, *of_right]
    if side == "RIGHT":
        return [*of_right, *rest], of_left
    return [*of_left, *rest], of_right
