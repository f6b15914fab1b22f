"""CORRELATED_COUNT, _SUM and _AVG: an aggregate of the rows whose x is in a range given by MIN, MAX or AVG of all x.

    SELECT origin, CORRELATED_COUNT(duration > AVG(duration)) FROM calls GROUP BY origin

becomes exact SQL that both engines know: the aggregate of all x as a window function over the rows of the group, in FROM, and
what is asked for as an ordinary aggregate above it.

    SELECT a.c0, CAST(COUNT_IF(CAST(a.c1 AS DOUBLE) > a.i0) AS DOUBLE) FROM
      (SELECT origin AS c0, duration AS c1, AVG(CAST(duration AS DOUBLE)) OVER (PARTITION BY origin) AS i0 FROM calls) AS a
    GROUP BY a.c0

All arithmetic is of DOUBLEs, so that a synopsis, which may answer a continuous query instead, draws the same line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from millpond.errors import TypeMismatch, UnsupportedSql
from millpond.query.grouped_rows import GroupedRows, double
from millpond.sql.dialect import CORRELATED, OF_CONDITION, span_of

BUCKETS = 10
"""Of a synopsis, unless the call says how many."""
MOST_BUCKETS = 10_000
MOST_DIGITS = 40  # of a number in a range, before or behind its point
LARGEST = 1e100
_INDEPENDENT: dict[type[exp.Expr], str] = {exp.Min: "min", exp.Max: "max", exp.Avg: "avg"}


@dataclass(frozen=True)
class End:
    """An end of the range: factor * AGG(x) + offset; a closed one belongs to it."""

    factor: float
    offset: float
    closed: bool


@dataclass(frozen=True)
class Correlated:
    """`function` (count, sum or avg) of y over the rows with x between the ends; `shown` is value, lower or upper."""

    function: str
    shown: str
    independent: str
    low: End | None
    high: End | None
    buckets: int
    x: exp.Expr
    y: exp.Expr


def is_correlated(node: exp.Expr) -> bool:
    """Whether a node, before calls are made exact, is such a call."""
    return isinstance(node, exp.Anonymous) and node.name.upper() in CORRELATED


# -- reading a call -----------------------------------------------------------------------------------------------------


def read(call: exp.Anonymous, sql: str) -> Correlated:
    """What a qualified call, whose columns have types, asks."""
    name = call.name.upper()
    function, shown = CORRELATED[name]
    given = list(call.expressions)
    value = given.pop(0) if call.meta.get(OF_CONDITION) else None
    if not given or len(given) > 2:
        _refuse(call, sql, "It takes a range, and may take a number of buckets.")
    if value is not None and function == "count":
        _refuse(call, sql, "It counts rows, so it takes no value before the range.")
    x, independent, low, high = _Range(call, sql).read(given[0])
    buckets = _buckets(given[1], name, sql) if len(given) > 1 else BUCKETS
    if value is not None and (_aggregates(value) or value.find(exp.Query)):
        _refuse(call, sql, "Before WHERE stands a value of each row, not an aggregate and no subquery.")
    for item in (x, value):
        kind = item.type if isinstance(item, exp.Column) else None
        if item is not None and kind is not None and not kind.is_type(*exp.DataType.NUMERIC_TYPES):
            message = f'{name} is of numbers, and "{item.name}" is {kind.sql(dialect="spark")}'
            raise TypeMismatch(message, sql=sql, span=span_of(item) or span_of(call))
    return Correlated(function, shown, independent, low, high, buckets, x, x if value is None else value)


def _buckets(node: exp.Expr, name: str, sql: str) -> int:
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() and len(node.name) < 9:
        buckets = int(node.name)
        if 3 <= buckets <= MOST_BUCKETS:
            return buckets
    raise TypeMismatch(
        f"the buckets of {name} are a whole number from 3 to {MOST_BUCKETS:,}",
        detail=f"It is {node.sql(dialect='spark')}.",
        sql=sql,
        span=span_of(node) or span_of(node.parent or node),
    )


def _refuse(call: exp.Expr, sql: str, detail: str) -> NoReturn:
    name = call.name.upper()
    value = "" if CORRELATED[name][0] == "count" else "[<y> WHERE] "
    raise UnsupportedSql(
        f"{name} is written {name}({value}<range of x>)",
        detail=detail,
        hint="A range is x > AVG(x), x <= 2 * MIN(x) + 3, x BETWEEN 0.9 * AVG(x) AND 1.1 * AVG(x), and the like.",
        sql=sql,
        span=span_of(call),
    )


@dataclass(frozen=True)
class _Line:
    """factor * aggregate + offset; a constant has no aggregate."""

    factor: Fraction
    offset: Fraction
    aggregate: exp.Expr | None = None


_COMPARED: dict[type[exp.Expr], tuple[bool, bool]] = {  # whether it is a lower end of its left side, and closed
    exp.GT: (True, False), exp.GTE: (True, True), exp.LT: (False, False), exp.LTE: (False, True),
}  # fmt: skip


class _Range:
    """Reads a range: up to two comparisons of one x with lines in one aggregate of that x."""

    def __init__(self, call: exp.Expr, sql: str) -> None:
        self._call = call
        self._sql = sql
        self._x: exp.Expr | None = None
        self._aggregate: exp.Expr | None = None
        self._ends: dict[bool, End] = {}  # by whether it is the lower one

    def read(self, condition: exp.Expr) -> tuple[exp.Expr, str, End | None, End | None]:
        for part in _conjuncts(condition):
            if isinstance(part, exp.Between) and not part.args.get("symmetric"):
                self._end(part.this, part.args["low"], True, True)
                self._end(part.this, part.args["high"], False, True)
            elif type(part) in _COMPARED:
                lower, closed = _COMPARED[type(part)]
                if _aggregates(part.this) or _is_constant(part.this):
                    self._end(part.expression, part.this, not lower, closed)
                else:
                    self._end(part.this, part.expression, lower, closed)
            else:
                self._refuse(f"{_shown(part)} is not a comparison with <, <=, >, >= or BETWEEN.")
        if self._aggregate is None or self._x is None:
            self._refuse("The range hangs on no aggregate: it names neither MIN, MAX nor AVG.")
        if self._aggregate.this.unnest() != self._x:
            self._refuse(f"The range is of {_shown(self._x)}, and its end hangs on {_shown(self._aggregate)}.")
        return self._x, _INDEPENDENT[type(self._aggregate)], self._ends.get(True), self._ends.get(False)

    def _end(self, x: exp.Expr, line: exp.Expr, lower: bool, closed: bool) -> None:
        x = x.unnest()
        if _aggregates(x) or x.find(exp.Query):
            self._refuse("Between its ends stands x itself, not an aggregate and no subquery.")
        if self._x is not None and self._x != x:
            self._refuse("Both ends are of the same x.")
        if lower in self._ends:
            self._refuse("A range has one lower and one upper end.")
        found = self._line(line)
        if found.factor < 0:
            self._refuse("Its ends rise with the aggregate: the factor is not negative.")
        self._x = x
        factor, offset = float(found.factor), float(found.offset)
        if max(abs(factor), abs(offset)) > LARGEST:
            self._refuse(f"Factors and offsets are at most {LARGEST:g}.")
        self._ends[lower] = End(factor, offset, closed)

    def _line(self, node: exp.Expr) -> _Line:
        node = node.unnest()
        if isinstance(node, exp.Literal) and not node.is_string:
            number = Decimal(node.this)
            if number and abs(number.adjusted()) > MOST_DIGITS:
                self._refuse(f"Numbers are between 1e-{MOST_DIGITS} and 1e{MOST_DIGITS}.")
            return _Line(Fraction(0), Fraction(number))
        if isinstance(node, exp.Neg):
            inner = self._line(node.this)
            return _Line(-inner.factor, -inner.offset, inner.aggregate)
        if type(node) in _INDEPENDENT:
            if self._aggregate is not None and self._aggregate != node:
                self._refuse("Both ends hang on the same aggregate.")
            self._aggregate = node
            return _Line(Fraction(1), Fraction(0), node)
        if isinstance(node, (exp.Add, exp.Sub)):
            left, right = self._line(node.this), self._line(node.expression)
            sign = 1 if isinstance(node, exp.Add) else -1
            aggregate = left.aggregate or right.aggregate
            return _Line(left.factor + sign * right.factor, left.offset + sign * right.offset, aggregate)
        if isinstance(node, (exp.Mul, exp.Div)):
            left, right = self._line(node.this), self._line(node.expression)
            if isinstance(node, exp.Mul) and left.aggregate is None:
                left, right = right, left
            by = right.offset
            if right.aggregate is None and (by or isinstance(node, exp.Mul)):
                by = by if isinstance(node, exp.Mul) else 1 / by
                return _Line(left.factor * by, left.offset * by, left.aggregate)
        self._refuse(f"{_shown(node)} is not a number times MIN, MAX or AVG of x, plus a number.")

    def _refuse(self, detail: str) -> NoReturn:
        _refuse(self._call, self._sql, detail)


def _shown(node: exp.Expr) -> str:
    """A part of a qualified tree, in the words of the user."""
    plain = node.copy().transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) else n)
    return plain.sql(dialect="spark")


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _aggregates(node: exp.Expr) -> bool:
    return node.find(exp.AggFunc) is not None


def _is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Column) is None


# -- saying it exactly --------------------------------------------------------------------------------------------------


def exact(mark: Correlated, rows: GroupedRows) -> exp.Expr:
    kind = next(k for k, name in _INDEPENDENT.items() if name == mark.independent)
    aggregate = rows.over(kind(this=exp.cast(mark.x.copy(), "double")))
    x = exp.cast(rows.above(mark.x), "double")
    conditions: list[exp.Expr] = []
    if mark.low is not None:
        above: type[exp.Expr] = exp.GTE if mark.low.closed else exp.GT
        conditions.append(above(this=x.copy(), expression=_line(mark.low, aggregate)))
    if mark.high is not None:
        below: type[exp.Expr] = exp.LTE if mark.high.closed else exp.LT
        conditions.append(below(this=x.copy(), expression=_line(mark.high, aggregate)))
    inside = exp.and_(*conditions)
    if mark.function == "count":
        return exp.cast(exp.CountIf(this=inside), "double" if mark.shown == "value" else "bigint")
    chosen = exp.Case(ifs=[exp.If(this=inside, true=exp.cast(rows.above(mark.y), "double"))])
    if mark.function == "avg":
        return exp.Avg(this=chosen)
    return exp.Coalesce(this=exp.Sum(this=chosen), expressions=[double(0.0)])


def _line(end: End, aggregate: exp.Expr) -> exp.Expr:
    line: exp.Expr = exp.Mul(this=double(end.factor), expression=aggregate.copy())
    if end.factor == 1:
        line = aggregate.copy()
    return line if end.offset == 0 else exp.Add(this=line, expression=double(end.offset))
