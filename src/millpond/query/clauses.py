"""Which clauses a query has, and whether a way of evaluating it takes them all.

Whoever evaluates a query in a special way lists the clauses it takes. Anything else, also a clause that a later version of the
parser knows, is refused with a reason in the user's words.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

_ALWAYS = ("expressions", "from_")
_WORDS = {
    "with_": "WITH",
    "joins": "a join",
    "laterals": "LATERAL VIEW",
    "group": "GROUP BY",
    "windows": "WINDOW",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}


@dataclass(frozen=True)
class Refusal:
    """Why a query is not evaluated in some way, as a clause that follows "because": `it has ORDER BY`.

    `asked`: the query asks for that way by its text, so its user is told why it is not taken.
    """

    reason: str
    asked: bool = False


def clauses(tree: exp.Select) -> list[str]:
    """The clauses of a SELECT besides its list and FROM, in the user's words."""
    return [_word(name) for name, value in tree.args.items() if value and name not in _ALWAYS]


def only(tree: exp.Expr, *allowed: str) -> Refusal | None:
    """None if a query is one SELECT from one table, with no other clause than those `allowed`."""
    if not isinstance(tree, exp.Select):
        return Refusal("it is more than one SELECT")
    if any(isinstance(n, exp.Select) and n is not tree for n in tree.walk()):
        return Refusal("it is more than one SELECT")
    for name, value in tree.args.items():
        if value and name not in _ALWAYS and name not in allowed:
            return Refusal(f"it has {_word(name)}")
    source = tree.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table):
        return Refusal("it does not read a table")
    return None


def group_keys(tree: exp.Select) -> list[exp.Expr] | Refusal:
    """By what a query is grouped: nothing if it has no GROUP BY; refused if it has more than a list of expressions."""
    group = tree.args.get("group")
    if group is None:
        return []
    several = any(isinstance(e, (exp.Cube, exp.Rollup, exp.GroupingSets)) for e in group.expressions)
    if several or not group.expressions or any(v for k, v in group.args.items() if k != "expressions"):
        return Refusal("its GROUP BY is more than a list")
    return list(group.expressions)


def nothing_of_nothing(tree: exp.Expr, streams: Collection[str]) -> bool:
    """Whether a query has no rows for certain when its streams have none: it is grouped, or looks at each row for itself, and
    a stream comes first in its FROM."""
    source = tree.args.get("from_")
    if not isinstance(tree, exp.Select) or source is None:
        return False
    if any(join.side not in ("", "LEFT") for join in tree.args.get("joins") or ()):
        return False
    keys = group_keys(tree)
    if isinstance(keys, Refusal) or (not keys and (tree.args.get("having") or tree.find(exp.AggFunc))):
        return False
    first = source.this
    if isinstance(first, exp.Subquery):
        return nothing_of_nothing(first.this, streams)
    return isinstance(first, exp.Table) and first.name in streams


def key_columns(tree: exp.Select) -> frozenset[str]:
    """The columns among what a query is grouped by, in lower case; none if its GROUP BY is more than a list."""
    keys = group_keys(tree)
    if isinstance(keys, Refusal):
        return frozenset()
    return frozenset(k.name.lower() for k in keys if isinstance(k, exp.Column))


def selected_columns(tree: exp.Expr) -> list[exp.Column | None]:
    """For each selected item the column that it is; None if it is anything more."""
    items = (
        [e.this if isinstance(e, exp.Alias) else e for e in tree.expressions] if isinstance(tree, exp.Select) else []
    )
    return [i if isinstance(i, exp.Column) else None for i in items]


def _word(name: str) -> str:
    return _WORDS.get(name, name.strip("_").upper())
