"""The rows of a SELECT put into a subquery that also has, for each row, aggregates of its group.

    SELECT origin, <an aggregate of x and AVG(x)> FROM calls GROUP BY origin

becomes

    SELECT a.c0, <an aggregate of a.c1 and a.i0> FROM
      (SELECT origin AS c0, x AS c1, AVG(x) OVER (PARTITION BY origin) AS i0 FROM calls) AS a
    GROUP BY a.c0

so that aggregates of aggregates are SQL that both engines know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from sqlglot import exp

from millpond.errors import UnsupportedSql
from millpond.sql.dialect import span_of

_ALL, _ROWS = "__millpond_all", "__millpond_rows"  # the rows with the aggregates of their group; the rows
_BELOW = ("from_", "joins", "laterals", "where")  # the clauses that say which rows there are


class GroupedRows:
    """A SELECT whose rows are put there."""

    def __init__(self, select: exp.Select, sql: str) -> None:
        self._select = select
        self._sql = sql
        group = select.args.get("group")
        self._keys: list[exp.Expr] = [k.copy() for k in group.expressions] if group is not None else []
        self._columns: dict[tuple[str, str], exp.Column] = {}  # as they are in the subquery, by name there
        # Aggregates over the group, and over parts of it that are alike in further values; by their texts.
        self._windows: dict[tuple[str, ...], tuple[exp.Expr, list[exp.Expr]]] = {}

    def put(self, calls: Sequence[tuple[exp.Expr, Callable[[GroupedRows], exp.Expr]]]) -> None:
        """Each call is replaced by what is said in place of it, which takes what it needs from `above` and `over`."""
        select = self._select
        group = select.args.get("group")
        further = (exp.Rollup, exp.Cube, exp.GroupingSets)
        if group is not None and (
            any(v for k, v in group.args.items() if k != "expressions")
            or any(isinstance(e, further) for e in group.expressions)
        ):
            self._refuse(calls[0][0], "GROUPING SETS, CUBE, ROLLUP or GROUP BY ALL")
        if select.args.get("from_") is None:
            self._refuse(calls[0][0], "no FROM")
        above = [v for k, part in select.args.items() if k not in (*_BELOW, "with_") for v in _nodes(part)]
        self._check_subqueries(above, calls[0][0])
        for call, said in calls:
            call.replace(said(self))
        for part in [v for k, p in select.args.items() if k not in (*_BELOW, "with_") for v in _nodes(p)]:
            for column in list(part.find_all(exp.Column)):
                if column.table and column.table != _ALL and column.parent_select is select:
                    column.replace(self._column(column))
        select.set("from_", _from(self._subquery(), _ALL))

    def above(self, node: exp.Expr) -> exp.Expr:
        """A value of a row, as it is called above the subquery."""
        return self._moved(node, _ALL)

    def over(self, aggregate: exp.Expr, also: exp.Expr | None = None) -> exp.Expr:
        """An aggregate of the rows of a row's group, of those that have the row's value of `also`, if that is given."""
        parts = [] if also is None else [also]
        key = tuple(n.sql(dialect="spark") for n in [aggregate, *parts])
        self._windows.setdefault(key, (aggregate, [p.copy() for p in parts]))
        return _named(_name(list(self._windows).index(key), "i"), _ALL)

    def _subquery(self) -> exp.Select:
        for aggregate, also in self._windows.values():  # the rows need the columns of these too
            for column in [c for node in (aggregate, *also) for c in node.find_all(exp.Column)]:
                self._column(column)
        rows = exp.Select(expressions=[_as(c, _name(i)) for i, c in enumerate(self._columns.values())])
        for clause in _BELOW:
            rows.set(clause, self._select.args.get(clause))
            self._select.set(clause, None)
        windows = list(self._windows.values())
        keys = [[*self._keys, *also] for _, also in windows]
        computed = [k for parts in keys for k in parts if not isinstance(k, exp.Column)]
        if computed:  # engines partition by columns, not by all that can be computed
            names: dict[str, exp.Expr] = {}
            for key in [k for parts in keys for k in parts]:
                text = key.sql(dialect="spark")
                if text not in names:
                    rows.append("expressions", _as(key.copy(), _name(len(names), "k")))
                    names[text] = _named(_name(len(names), "k"), _ROWS)
            keys = [[names[k.sql(dialect="spark")] for k in parts] for parts in keys]
            windows = [(self._moved(aggregate, _ROWS), also) for aggregate, also in windows]
            below, count = rows, len(self._columns)
            rows = exp.Select(expressions=[_as(_named(_name(i), _ROWS), _name(i)) for i in range(count)])
            rows.set("from_", _from(below, _ROWS))
        for i, ((aggregate, _), parts) in enumerate(zip(windows, keys, strict=True)):
            over = {"partition_by": [k.copy() for k in parts]} if parts else {}
            rows.append("expressions", _as(exp.Window(this=aggregate, over="OVER", **over), _name(i, "i")))
        return rows

    def _check_subqueries(self, above: list[exp.Expr], call: exp.Expr) -> None:
        """A subquery beside the call may not name columns of the rows around it: these have other names then."""
        sources = [self._select.args["from_"].this, *(j.this for j in self._select.args.get("joins") or ())]
        names = {s.alias_or_name for s in sources}
        for part in above:
            for query in part.find_all(exp.Select):
                inside = {t.alias_or_name for t in query.find_all(exp.Table, exp.Subquery)}
                if any(c.table in names - inside for c in query.find_all(exp.Column)):
                    self._refuse(call, "a subquery that names columns of the rows around it")

    def _refuse(self, call: exp.Expr, what: str) -> NoReturn:
        raise UnsupportedSql(f"{call.name.upper()} with {what} is not supported", sql=self._sql, span=span_of(call))

    def _column(self, column: exp.Column, table: str = _ALL) -> exp.Column:
        """What a column of the rows is called in `table`."""
        key = (column.table, column.name)
        self._columns.setdefault(key, column.copy())
        return _named(_name(list(self._columns).index(key)), table)

    def _moved(self, node: exp.Expr, table: str) -> exp.Expr:
        return node.copy().transform(lambda n: self._column(n, table) if isinstance(n, exp.Column) else n)


def double(value: float) -> exp.Expr:
    """A number with an exponent is a DOUBLE."""
    text = repr(abs(value))
    literal: exp.Expr = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.Neg(this=literal) if value < 0 else literal


def _name(number: int, letter: str = "c") -> str:
    return f"{letter}{number}"


def _named(name: str, table: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def _as(node: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(node, name, quoted=True)


def _from(query: exp.Select, name: str) -> exp.From:
    alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True))
    return exp.From(this=exp.Subquery(this=query, alias=alias))


def _nodes(part: object) -> list[exp.Expr]:
    return [n for n in (part if isinstance(part, list) else [part]) if isinstance(n, exp.Expr)]
