"""Why a query that allows an error is answered exactly, from all rows of its window."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millpond.network.plan.prepared import Prepared
from millpond.network.plan.shapes import REFUSED
from millpond.query.approximate import mark_of
from millpond.query.exact import correlated_of, norm_of


def why_exact(prepared: Prepared) -> str | None:
    """The first reason; None if the query allows no error. Asked only of a query that is not held in synopses."""
    tree = prepared.bound.written or prepared.bound.tree
    nodes = list(tree.walk())
    if not any(mark_of(n) or norm_of(n) or correlated_of(n) for n in nodes):
        return None
    return f"exact, holding the rows of its windows: {next(_reasons(prepared, tree))}"


def _reasons(prepared: Prepared, tree: exp.Expr) -> Iterator[str]:
    if prepared.query.form != "rstream":
        yield f"it sends {prepared.query.form.upper()}, not its whole result"
    if not isinstance(tree, exp.Select) or len(list(tree.find_all(exp.Select))) > 1:
        yield "it is more than one SELECT"
        return
    if len(prepared.bound.uses) > 1:
        yield "it reads more than one table"
    for clause in REFUSED:
        if tree.args.get(clause):
            yield f"it has {clause.strip('_').upper()}"
    window = prepared.streams[0].window
    for item in tree.selects:
        node = item.unalias()
        if correlated_of(node) is not None and (window is None or window.landmark is None):
            yield f"{_shown(node)} is estimated over [LANDMARK ...] only"
        elif (mark_of(node) or norm_of(node)) and (
            window is None or window.interval is None or window.rows is not None
        ):
            yield f"{_shown(node)} is estimated over [INTERVAL ...] only"
    keys = [k for group in [tree.args.get("group")] if group is not None for k in group.expressions]
    for item in tree.selects:
        node = item.unalias()
        if node not in keys and not (mark_of(node) or norm_of(node) or correlated_of(node)):
            yield f"{_shown(node)} is neither such a call nor what it is grouped by"
    yield "its calls are of different kinds, of values that no synopsis takes, or of an error that none is small for"


def _shown(node: exp.Expr) -> str:
    """In the words of the user, as far as they are known."""
    mark = mark_of(node)
    if mark is not None:
        return f"APPROX_{mark.function.upper()}"
    plain = node.copy().transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    return plain.sql(dialect="spark")
