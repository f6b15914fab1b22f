"""Long chains of AND, OR, || and UNION, as trees that are wide instead of deep.

A parser reads `a OR b OR c OR d` as `((a OR b) OR c) OR d`: a chain of thousands is a tree thousands of nodes deep, which
recursion cannot walk and where each look for an ancestor costs as much as the chain is long. All four are associative, so
`(a OR b) OR (c OR d)` means the same. The operands stay in their order.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

_KEPT = ("distinct", "safe")  # arguments that all links of a chain have alike
LONG = 64  # operands; shorter chains are as the parser made them


def balance(tree: exp.Expression) -> exp.Expression:
    """The tree with its long chains balanced, in place."""
    links = [node for node in tree.walk() if isinstance(node, (exp.And, exp.Or, exp.DPipe, exp.Union))]
    for top in links:
        if top.arg_key == "this" and top.parent is not None and _same(top.parent, top):
            continue  # inside a chain, or moved by now
        operands = _operands(top)
        if len(operands) < LONG:
            continue
        # What belongs to the whole chain (WITH, ORDER BY, LIMIT) stays at its top.
        middle = len(operands) // 2
        top.set("this", _balanced(operands[:middle], top))
        top.set("expression", _balanced(operands[middle:], top))
    return tree


def _same(node: exp.Expr, top: exp.Expr) -> bool:
    """Whether two nodes are links of one chain. UNIONs have to agree on duplicates, and take columns by their place."""
    if type(node) is not type(top):
        return False
    if not isinstance(node, exp.Union):
        return True
    plain = not any(each.args.get(key) for each in (node, top) for key in ("by_name", "side", "kind", "on"))
    return plain and bool(node.args.get("distinct")) == bool(top.args.get("distinct"))


def _operands(top: exp.Expr) -> list[exp.Expression]:
    found = []
    node = top
    while _same(node, top) and (node is top or _bare(node)):
        found.append(node.expression)
        node = node.this
    return [node, *reversed(found)]


def _bare(node: exp.Expr) -> bool:
    return all(not value or key in ("this", "expression", *_KEPT) for key, value in node.args.items())


def _balanced(operands: list[exp.Expression], top: exp.Expr) -> exp.Expression:
    more = {key: top.args[key] for key in _KEPT if key in top.args}
    while len(operands) > 1:
        pairs: list[Any] = [
            type(top)(this=operands[i], expression=operands[i + 1], **more) for i in range(0, len(operands) - 1, 2)
        ]
        operands = pairs + operands[len(operands) - len(operands) % 2 :]
    return operands[0]
