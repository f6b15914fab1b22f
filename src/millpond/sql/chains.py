"""Long chains of AND, OR and UNION ALL, as trees that are wide instead of deep.

A parser reads `a OR b OR c OR d` as `((a OR b) OR c) OR d`: a chain of thousands is a tree thousands of nodes deep, which
recursion cannot walk and where each look for an ancestor costs as much as the chain is long. All three are associative, so
`(a OR b) OR (c OR d)` means the same. The operands stay in their order.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

_LONG = 64  # operands; shorter chains are as the parser made them


def balance(tree: exp.Expression) -> exp.Expression:
    """The tree with its long chains balanced, in place but for its root."""
    tops = [
        node
        for node in tree.walk()
        if isinstance(node, (exp.And, exp.Or, exp.Union))
        and _joins(node, type(node))
        and not (_joins(node.parent, type(node)) and node.arg_key == "this")
    ]
    for top in tops:
        operands = _operands(top)
        if len(operands) < _LONG:
            continue
        # What belongs to the whole chain (WITH, ORDER BY, LIMIT) stays at its top.
        middle = len(operands) // 2
        make = _maker(top)
        top.set("this", _balanced(operands[:middle], make))
        top.set("expression", _balanced(operands[middle:], make))
    return tree


def _joins(node: exp.Expr | None, kind: type[exp.Expr]) -> bool:
    """Whether a node is of the kind and associative: a UNION that keeps duplicates and takes columns by their place."""
    if type(node) is not kind:
        return False
    return kind is not exp.Union or not (node.args.get("distinct") or node.args.get("by_name") or node.args.get("side"))


def _operands(top: exp.Expr) -> list[exp.Expression]:
    found = []
    node = top
    while _joins(node, type(top)) and (node is top or _plain(node)):
        found.append(node.expression)
        node = node.this
    return [node, *reversed(found)]


def _plain(node: exp.Expr) -> bool:
    return all(not value or key in ("this", "expression", "distinct") for key, value in node.args.items())


def _maker(top: exp.Expr) -> Callable[[exp.Expression, exp.Expression], exp.Expression]:
    if isinstance(top, exp.Union):
        return lambda left, right: exp.Union(this=left, expression=right, distinct=False)
    kind = exp.And if isinstance(top, exp.And) else exp.Or
    return lambda left, right: kind(this=left, expression=right)


def _balanced(
    operands: list[exp.Expression], make: Callable[[exp.Expression, exp.Expression], exp.Expression]
) -> exp.Expression:
    while len(operands) > 1:
        pairs = [make(*operands[i : i + 2]) for i in range(0, len(operands) - 1, 2)]
        operands = pairs + operands[len(operands) - len(operands) % 2 :]
    return operands[0]
