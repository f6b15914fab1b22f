"""What a query asks of a reduction: how its aggregates are made of the windows' partials, and which time it is about. What
cannot be answered from windows is refused with its reason.

A condition or a key is known of a whole window if it looks at nothing but the keys of the reduction and at what time says of
windows: `date_trunc('HOUR', t)` is the same for all rows of a window of ten minutes, `t` is not. A condition that compares the
time itself with a constant cuts history into three: windows inside, windows outside, and those it cuts, whose rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from millpond.catalog import Partial, Reduction, StreamingTable
from millpond.duration import UNITS, TimeUnit, describe
from millpond.errors import Span, UnsupportedSql
from millpond.query.binding.uses import Bound, Use
from millpond.query.clauses import Refusal, group_keys, only
from millpond.query.reduced_shape import Aggregate, Shape
from millpond.query.windowed.definition import aggregate_of, plain, where_of
from millpond.sql.dialect import span_of

_CLAUSES = ("where", "group", "having", "order", "limit", "offset")
_DAY = timedelta(days=1)
_UNITS = {**UNITS, "WEEK": _DAY, "MONTH": _DAY, "MON": _DAY, "MM": _DAY, "QUARTER": _DAY, "YEAR": _DAY, "YYYY": _DAY,
          "YY": _DAY, "DD": _DAY}  # fmt: skip
"""At whose multiples what a unit is truncated to, or extracted, changes. All of the larger ones begin with a day."""
_PARTS: dict[type[exp.Expr], timedelta] = {
    exp.Hour: UNITS["HOUR"],
    exp.Minute: UNITS["MINUTE"],
    exp.Second: UNITS["SECOND"],
    exp.TsOrDsToDate: _DAY,
    exp.Date: _DAY,
    exp.Year: _DAY,
    exp.Month: _DAY,
    exp.Quarter: _DAY,
    exp.Day: _DAY,
    exp.DayOfWeek: _DAY,
    exp.DayOfMonth: _DAY,
    exp.DayOfYear: _DAY,
    exp.WeekOfYear: _DAY,
}
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE, exp.EQ: exp.EQ,
}  # fmt: skip


@dataclass(frozen=True)
class Limit:
    """A condition `time <operator> constant`."""

    operator: type[exp.Expr]
    constant: exp.Expr


@dataclass(frozen=True)
class Question:
    """`columns` are the partials that are needed, in the order in which they are read; `made_of` says for each aggregate of the
    shape of which of them it is made. `inside` are the conditions that are asked of windows, `limits` those on time."""

    shape: Shape
    columns: tuple[Partial, ...]
    made_of: tuple[tuple[int, ...], ...]
    inside: tuple[exp.Expr, ...]
    limits: tuple[Limit, ...]


def read_question(bound: Bound, reduction: Reduction, sql: str) -> Question:
    """What a query asks; raises if the reduction cannot answer it."""
    return _Reader(bound, reduction, sql).question()


class _Reader:
    def __init__(self, bound: Bound, reduction: Reduction, sql: str) -> None:
        self._bound = bound
        self._reduction = reduction
        self._sql = sql
        self._columns: list[Partial] = []

    def question(self) -> Question:
        tree, use = self._tree()
        keys = group_keys(tree)
        if isinstance(keys, Refusal):
            raise self._refused(keys.reason)
        nodes = list(_outermost(tree))
        if not nodes and not keys:
            raise self._refused(
                "it asks for rows, and windows hold aggregates", hint="Select COUNT, SUM, AVG, MIN or MAX."
            )
        for key in keys:
            self._check_known(key, "it is grouped by")
        aggregates, made_of = [], []
        for node in nodes:
            aggregate, parts = self._aggregate(node)
            aggregates.append(aggregate)
            made_of.append(parts)
        self._check_selected(tree, keys, nodes)
        inside, limits = self._conditions(tree)
        shape = Shape(use, tree, tuple(keys), tuple(aggregates))
        if not self._columns:
            self._part("rows", "")
        return Question(shape, tuple(self._columns), tuple(made_of), tuple(inside), tuple(limits))

    def _tree(self) -> tuple[exp.Select, Use]:
        tree = self._bound.tree
        refusal = only(tree, *_CLAUSES)
        if refusal is None and tree.find(exp.Window) is not None:
            refusal = Refusal("it has functions OVER a window")
        if refusal is None and self._bound.functions:
            refusal = Refusal(f"it calls a function in Python: {', '.join(sorted(self._bound.functions))}")
        if refusal is not None:
            raise self._refused(refusal.reason)
        assert isinstance(tree, exp.Select)
        (use,) = self._bound.uses.values()
        if use.window is not None:
            raise self._refused(
                "its table has a window in brackets", hint="Say it in WHERE: t >= NOW() - INTERVAL '1' DAY."
            )
        return tree, use

    @property
    def _table(self) -> StreamingTable:
        (use,) = self._bound.uses.values()
        assert isinstance(use.table, StreamingTable)
        return use.table

    # -- aggregates ---------------------------------------------------------------------------------------------------

    def _aggregate(self, node: exp.Expr) -> tuple[Aggregate, tuple[int, ...]]:
        found = aggregate_of(node)
        if found is None:
            raise self._refused(f"it keeps nothing that {_written(node)} is made of", self._keeps(), span=span_of(node))
        kind, value = found
        if value is None:
            return Aggregate(node, kind, None), (self._part("rows", ""),)
        of = plain(value)
        kinds = {"count": ("count",), "sum": ("sum",), "avg": ("sum", "count"), "min": ("min",), "max": ("max",)}[kind]
        for each in kinds:
            if not any((p.kind, p.of) == (each, of) for p in self._reduction.partials):
                raise self._refused(
                    f"it keeps nothing that {_written(node)} is made of", self._keeps(), span=span_of(node)
                )
        return Aggregate(node, kind, value), tuple(self._part(each, of) for each in kinds)

    def _part(self, kind: str, of: str) -> int:
        """The place of a partial among those that are read."""
        partial = next(p for p in self._reduction.partials if (p.kind, p.of) == (kind, of))
        if partial not in self._columns:
            self._columns.append(partial)
        return self._columns.index(partial)

    def _keeps(self) -> str:
        kept = [f"{p.kind.upper()}({p.of.replace('`', '')})" if p.of else "COUNT(*)" for p in self._reduction.partials]
        keys = f" for each {', '.join(self._reduction.keys)}" if self._reduction.keys else ""
        return f"It keeps {', '.join(kept)}{keys}."

    def _check_selected(self, tree: exp.Select, keys: list[exp.Expr], aggregates: list[exp.Expr]) -> None:
        """What is selected beside aggregates is made of the keys."""
        names = {id(node) for item in tree.expressions if isinstance(item, exp.Alias) for node in [item.args["alias"]]}
        for clause in ("expressions", "having", "order"):
            found = tree.args.get(clause)
            for part in found if isinstance(found, list) else [found] if found is not None else []:
                for column in _outside(part, [*keys, *aggregates]):
                    if id(column) not in names and column.table:
                        raise self._refused(
                            f"{column.name} is neither grouped by nor in an aggregate", span=span_of(column)
                        )

    # -- keys and conditions ------------------------------------------------------------------------------------------

    def _check_known(self, node: exp.Expr, what: str) -> None:
        """Raise unless a value is the same for all rows of a key in a window."""
        for column in node.find_all(exp.Column):
            name = column.name.lower()
            if name != self._table.time_column and name not in self._reduction.keys:
                keys = ", ".join(self._reduction.keys) or "none"
                raise self._refused(
                    f"{what} {column.name}, which is not a key of it", f"Its keys: {keys}.", span=span_of(column)
                )
        if not self._constant(node):
            every = describe(self._reduction.every)
            raise self._refused(
                f"{what} {_written(node)}, which may change within a window",
                f"Its windows are of {every}.",
                "Ask by whole windows, such as date_trunc or window(...) of a multiple of theirs.",
                span_of(node),
            )

    def _constant(self, node: exp.Expr) -> bool:
        """Whether a value is the same for all rows of a window, as far as time is concerned."""
        if isinstance(node, exp.Column):
            return node.name.lower() != self._table.time_column
        step = _step(node, self._table)
        if step is not None and step % self._table.unit.count(self._reduction.every) == 0:
            return True
        return all(self._constant(child) for child in node.iter_expressions())

    def _conditions(self, tree: exp.Select) -> tuple[list[exp.Expr], list[Limit]]:
        asked = where_of(tree)
        texts = [plain(condition) for condition in asked]
        for wanted in self._reduction.conditions:
            if wanted not in texts:
                shown = wanted.replace("`", "")
                raise self._refused(
                    f"it has only rows with {shown}, and the query asks for others", hint=f"Add it: WHERE {shown}."
                )
        inside: list[exp.Expr] = []
        limits: list[Limit] = []
        for condition, text in zip(asked, texts, strict=True):
            if text in self._reduction.conditions:
                continue
            found = _limits(condition, self._table.time_column)
            if found:
                limits += found
            else:
                self._check_known(condition, "it has a condition on")
                inside.append(condition)
        return inside, limits

    def _refused(
        self, reason: str, detail: str | None = None, hint: str | None = None, span: Span | None = None
    ) -> UnsupportedSql:
        return UnsupportedSql(
            f'reduction "{self._reduction.name}" cannot answer this: {reason}',
            detail=detail,
            hint=hint or "Leave REDUCE USING out to read the rows.",
            sql=self._sql,
            span=span,
        )


def _outermost(tree: exp.Select) -> Iterator[exp.Expr]:
    """The aggregates of a query, with their FILTER."""
    for node in tree.find_all(exp.AggFunc):
        around: exp.Expr = node
        while isinstance(around.parent, (exp.Filter, exp.WithinGroup)) and around.parent.this is around:
            around = around.parent
        if around.find_ancestor(exp.AggFunc) is None:
            yield around


def _outside(part: exp.Expr, known: list[exp.Expr]) -> Iterator[exp.Column]:
    """The columns in a part of a query that are in none of these expressions."""
    if any(part is one or part == one for one in known):
        return
    if isinstance(part, exp.Column):
        yield part
        return
    for child in part.iter_expressions():
        yield from _outside(child, known)


def _limits(condition: exp.Expr, time: str) -> list[Limit]:
    """What a condition says about time, if it compares the time itself with constants."""
    if isinstance(condition, exp.Between) and not condition.args.get("symmetric"):
        low, high = condition.args["low"], condition.args["high"]
        if _is(condition.this, time) and not any(end.find(exp.Column) for end in (low, high)):
            return [Limit(exp.GTE, low), Limit(exp.LTE, high)]
    if type(condition) in _MIRRORED:
        left, right = condition.this, condition.expression
        if _is(left, time) and right.find(exp.Column) is None:
            return [Limit(type(condition), right)]
        if _is(right, time) and left.find(exp.Column) is None:
            return [Limit(_MIRRORED[type(condition)], left)]
    return []


def _is(node: exp.Expr, time: str) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == time


def _step(node: exp.Expr, table: StreamingTable) -> int | None:
    """At the multiples of what number a function of the time changes and nowhere else; None if that is not known."""
    time, unit = table.time_column, table.unit
    if isinstance(node, exp.Sub):
        rest = node.expression
        if isinstance(rest, exp.Anonymous) and rest.name.lower() == "pmod" and _raw(node.this, table):
            of, size = rest.expressions
            return _whole(size) if _raw(of, table) else None
        return None
    if unit is TimeUnit.SECOND:
        if isinstance(node, exp.IntDiv) and _raw(node.this, table):
            return _whole(node.expression)
        if isinstance(node, exp.Floor) and isinstance(node.this, exp.Div) and _raw(node.this.this, table):
            return _whole(node.this.expression)
        return None
    length: timedelta | None = None
    if isinstance(node, (exp.DateTrunc, exp.TimestampTrunc)) and _is(node.this, time):
        length = _UNITS.get(node.args["unit"].name.upper())
    elif isinstance(node, exp.Extract) and _is(node.expression, time):
        length = _UNITS.get(node.this.name.upper())
    elif isinstance(node, exp.Cast) and node.to.is_type("date") and _is(node.this, time):
        length = _DAY
    elif type(node) in _PARTS and _is(node.this, time):
        length = _PARTS[type(node)]
    return unit.count(length) if length is not None else None


def _raw(node: exp.Expr, table: StreamingTable) -> bool:
    """Whether a value is the time as a number, in the table's unit."""
    if table.unit is TimeUnit.MICROSECOND:
        return isinstance(node, exp.UnixMicros) and _is(node.this, table.time_column)
    if isinstance(node, exp.Cast) and node.to.is_type("bigint"):
        node = node.this
    return _is(node, table.time_column)


def _whole(node: exp.Expr) -> int | None:
    is_number = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return int(node.name) if is_number and int(node.name) > 0 else None


def _written(node: exp.Expr) -> str:
    return plain(node).replace("`", "")
