"""A smaller statement on which the two sides still differ in the same way: parts are left out or replaced while that holds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from sqlglot import exp, parse_one

from tests.generator.queries import Statement

_CLAUSES = ("where", "having", "order", "limit", "offset", "distinct", "group", "with_", "qualify")
_MOST = 400  # statements tried


def minimised(found: Statement, still: Callable[[Statement], bool], most: int = _MOST) -> Statement:
    """`still` says whether a statement shows what `found` shows."""
    best = found
    for ordered in (False, True) if found.ordered else (False,):
        start = Statement(_printed(found.sql), ordered)
        if still(start):
            best = start
            break
    else:
        return found
    tried = 0
    smaller = True
    while smaller and tried < most:
        smaller = False
        for text in _candidates(best.sql):
            tried += 1
            if tried >= most:
                break
            candidate = Statement(text, best.ordered)
            if still(candidate):
                best, smaller = candidate, True
                break
    return best


def _printed(sql: str) -> str:
    try:
        return parse_one(sql, read="spark").sql("spark")
    except Exception:
        return sql


def _candidates(sql: str) -> Iterator[str]:
    """Shorter texts, the shortest steps last."""
    seen = {sql}
    with contextlib.suppress(Exception):
        tree = parse_one(sql, read="spark")
        for number, _ in enumerate(tree.walk()):
            for way in range(12):
                copy = parse_one(sql, read="spark")
                node = next(n for i, n in enumerate(copy.walk()) if i == number)
                changed = _changed(copy, node, way)
                if changed is None:
                    continue
                with contextlib.suppress(Exception):
                    text = changed.sql("spark")
                    if text not in seen and len(text) < len(sql):
                        seen.add(text)
                        yield text


def _changed(tree: exp.Expr, node: exp.Expr, way: int) -> exp.Expr | None:
    """The tree after one of twelve ways to make `node` smaller; None if it is not one for this node."""
    if isinstance(node, exp.SetOperation):
        side = {0: node.this, 1: node.expression}.get(way)
        return None if side is None else _put(tree, node, side)
    if isinstance(node, exp.Select):
        if way < len(_CLAUSES):
            if not node.args.get(_CLAUSES[way]):
                return None
            node.set(_CLAUSES[way], None)
            return tree
        if way == 9 and node.args.get("joins"):
            node.args["joins"].pop()
            return tree
        if way >= 10 and len(node.expressions) > 1:
            node.expressions.pop(0 if way == 10 else -1)
            return tree
        return None
    if (
        isinstance(node, exp.Subquery)
        and way == 0
        and isinstance(node.this, exp.Select)
        and node.this.args.get("from_")
    ):
        inner = node.this.args["from_"].this
        if isinstance(inner, exp.Table) and isinstance(node.parent, exp.From):
            return _put(tree, node, inner)
        return None
    if isinstance(node, (exp.Tuple, exp.GroupingSets, exp.Rollup, exp.Cube, exp.Group)) and len(node.expressions) > 1:
        if way < 2:
            node.expressions.pop(-way)
            return tree
        return None
    if not isinstance(node, (exp.Condition, exp.Func)) or isinstance(
        node, (exp.Column, exp.Literal, exp.Null, exp.Boolean)
    ):
        if isinstance(node, (exp.Column, exp.Literal)) and way == 0:
            return _put(tree, node, exp.Null())
        return None
    children = [
        c
        for c in node.iter_expressions()
        if isinstance(c, (exp.Condition, exp.Func)) and not isinstance(c, exp.DataType)
    ]
    if way < min(len(children), 8):
        return _put(tree, node, children[way])
    if way == 8:
        return _put(tree, node, exp.Null())
    if way == 9:
        return _put(tree, node, exp.Literal.number(1))
    if way == 10:
        return _put(tree, node, exp.Boolean(this=True))
    return None


def _put(tree: exp.Expr, node: exp.Expr, other: exp.Expr) -> exp.Expr:
    if node is tree:
        return other
    node.replace(other.copy())
    return tree
