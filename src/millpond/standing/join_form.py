"""Which joins are kept as tuples of rows: SELECT columns FROM streams WHERE conditions on one stream AND comparisons of two.

Invariant. The tuples of rows that fulfil the predicates of their streams and all `factors` are exactly those of the answer, as
long as the numbers that are compared keep their `limits`. Beyond them a sum may exceed its type: an engine raises an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millpond.arrow import arrow_schema
from millpond.predicate.form import Always, CompareColumns, Predicate, all_of
from millpond.predicate.normal import normal
from millpond.query.binding.uses import Bound, Use
from millpond.query.bounds import column_of, conditions
from millpond.query.clauses import Refusal, only, selected_columns
from millpond.schema import BITS, Column
from millpond.sql.predicates import OPERATORS, ColumnOf, read_predicate
from millpond.standing.kept.delta import JoinFactor
from millpond.standing.kept.probe import can_compare


@dataclass(frozen=True)
class Limit:
    """The numbers in a column of a stream lie between `-most` and `most`."""

    stream: int
    column: str
    most: int


@dataclass(frozen=True)
class JoinForm:
    """A join of the streams of a query, numbered in their order. `columns` are what is selected: stream and name."""

    factors: tuple[JoinFactor, ...]
    columns: tuple[tuple[int, str], ...]
    limits: tuple[Limit, ...] = ()

    def compared(self, stream: int) -> list[str]:
        """The columns of a stream that the factors compare."""
        sides = [(f.left, f.left_column) for f in self.factors] + [(f.right, f.right_column) for f in self.factors]
        return list(dict.fromkeys(name for number, name in sides if number == stream))


def read_join(bound: Bound, uses: Sequence[Use]) -> tuple[JoinForm, list[Predicate]] | Refusal:
    """The form of a join of some streams, which are all that the query reads, and the predicates of each; or why it has none."""
    tree = bound.tree
    refusal = only(tree, "joins", "where")
    if refusal is not None:
        return refusal
    assert isinstance(tree, exp.Select)
    if not all(_is_inner(join) for join in tree.args.get("joins") or []):
        return Refusal("it joins in another way than INNER")
    streams = _streams(bound, uses)
    selected = selected_columns(tree)
    if len(streams) != len(uses) or None in selected:
        return Refusal("it computes more than columns of its streams")
    parts: list[list[Predicate]] = [[] for _ in uses]
    factors: list[JoinFactor] = []
    limits: list[Limit] = []
    for condition in (part for each in conditions(tree) for part in _conjuncts(each)):
        named = {column.table for column in condition.find_all(exp.Column)}
        if not named <= streams.keys():
            return Refusal("its WHERE says more than an index can")
        if len(named) == 2:
            found = _factor(condition, streams, uses)
            if found is None:
                return Refusal("it compares its streams by more than columns and numbers")
            factors.append(found[0])
            limits += found[1]
            continue
        at = streams[named.pop()] if len(named) == 1 else 0 if not named else None
        read = None if at is None else read_predicate(condition, column_of(_alias(streams, at), uses[at]))
        if at is None or read is None:
            return Refusal("its WHERE says more than an index can")
        parts[at].append(read)
    columns = tuple((streams[c.table], c.name) for c in selected if c is not None)
    return JoinForm(tuple(factors), columns, tuple(limits)), [normal(all_of(p)) if p else Always() for p in parts]


def _is_inner(join: exp.Join) -> bool:
    others = [name for name, value in join.args.items() if value and name not in ("this", "on", "kind")]
    return not others and join.kind in ("", "INNER", "CROSS") and isinstance(join.this, exp.Table)


def _streams(bound: Bound, uses: Sequence[Use]) -> dict[str, int]:
    """The number of the stream that each alias names."""
    numbers = {use.name: number for number, use in enumerate(uses)}
    sources = [(alias, source) for scope in bound.scopes for alias, source in scope.sources.items()]
    return {alias: numbers[s.name] for alias, s in sources if isinstance(s, exp.Table) and s.name in numbers}


def _alias(streams: dict[str, int], number: int) -> str:
    return next(alias for alias, each in streams.items() if each == number)


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [part for each in condition.flatten() for part in _conjuncts(each)]
    return [condition]


def _factor(condition: exp.Expr, streams: dict[str, int], uses: Sequence[Use]) -> tuple[JoinFactor, list[Limit]] | None:
    texts = _texts(condition, streams, uses)
    if texts is not None:
        return texts, []
    read = read_predicate(condition, _any_column(streams, uses), overflow=True)
    if not isinstance(read, CompareColumns) or not isinstance(read.offset, int | float):
        return None
    (left, left_name), (right, right_name) = _place(read.left), _place(read.right)
    one, other = (arrow_schema(uses[n].columns).field(c).type for n, c in ((left, left_name), (right, right_name)))
    if not can_compare(one, other, read.offset):
        return None
    factor = JoinFactor(left, left_name, read.operator, right, right_name, read.offset)
    return factor, _limits(condition, [(left, left_name), (right, right_name)], uses)


def _texts(condition: exp.Expr, streams: dict[str, int], uses: Sequence[Use]) -> JoinFactor | None:
    """The comparison of two columns of text, which a predicate of one row does not have."""
    operator = OPERATORS.get(type(condition))
    sides = [condition.this.unnest(), condition.expression.unnest()] if operator is not None else []
    if operator is None or not all(isinstance(side, exp.Column) for side in sides):
        return None
    found = list(map(_any_column(streams, uses), sides))
    if any(column is None or column.type.name != "STRING" for column in found):
        return None
    (left, left_name), (right, right_name) = (_place(column.name) for column in found if column is not None)
    return JoinFactor(left, left_name, operator, right, right_name)


def _any_column(streams: dict[str, int], uses: Sequence[Use]) -> ColumnOf:
    """Finds the columns of all streams, under names that say which stream it is (`_place`)."""

    def find(node: exp.Column) -> Column | None:
        number = streams.get(node.table)
        found = None if number is None else column_of(node.table, uses[number])(node)
        return None if found is None else Column(f"{number}.{found.name}", found.type)

    return find


def _place(name: str) -> tuple[int, str]:
    number, _, column = name.partition(".")
    return int(number), column


def _limits(condition: exp.Expr, sides: Sequence[tuple[int, str]], uses: Sequence[Use]) -> list[Limit]:
    """Within these no sum of a comparison exceeds the type of its column."""
    literals = [literal for literal in condition.find_all(exp.Literal) if not literal.is_string]
    if not literals:
        return []
    slack = sum(abs(int(literal.this)) for literal in literals if literal.this.isdecimal())
    found = []
    for stream, name in sides:
        bits = BITS.get(uses[stream].columns.find(name, uses[stream].alias).type.name)
        if bits is not None:
            found.append(Limit(stream, name, (1 << (max(bits, 32) - 1)) - 1 - slack))
    return found
