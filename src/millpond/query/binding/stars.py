"""`*`: which columns it shows.

A window shows the explicit columns: `*` over it leaves out the time column, which can still be named. That holds wherever `*`
stands, as an item, with EXCEPT, beside USING or in a call, and for the columns that NATURAL JOIN compares. The row number `_seq`
is never shown, and a column like others where it is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from millpond.catalog import StreamingTable
from millpond.errors import Span, UnknownName, UnsupportedSql
from millpond.query.approximate import is_approximate
from millpond.query.binding.star_order import merges, star_order
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use, uses_by_alias
from millpond.sql.dialect import span_of
from millpond.sql.rules.terms import leave_to_spark


class UnknownStar(UnsupportedSql):
    """Which columns `*` stands for cannot be told here. Spark can, where it is shown no others."""


def shows_time(scopes: Iterable[Scope], uses: Mapping[str, Use]) -> bool:
    """Whether Spark would take the time of a window for one of the columns of `*`, in the text as it stands."""
    for scope in scopes:
        select = scope.expression
        windows = [u for u in uses_by_alias(scope, uses).values() if u.window is not None and not u.bare]
        if not windows or not isinstance(select, exp.Select):
            continue
        joins = select.args.get("joins") or ()
        if any(join.method.upper() == "NATURAL" for join in joins) or select.find(exp.Star, exp.Lateral, exp.Pivot):
            return True
    return False


def expand_stars(scope: Scope, uses: Mapping[str, Use], hidden: bool, changes: TextChanges, sql: str) -> None:
    """Write the columns of `*` where it must not show all that a relation has: the time column of a window; and `_seq` and
    PREV, in a query that names such `hidden` columns."""
    select = scope.expression
    by_alias = uses_by_alias(scope, uses)
    if not isinstance(select, exp.Select):
        return
    if not any(u.window is not None or hidden for u in by_alias.values()):
        if not _leaves_out_known(scope, uses):
            leave_to_spark(select, "* EXCEPT of a column that is not known here is only supported on Spark")
        if merges(select) and any(isinstance(item, exp.Column) and item.is_star for item in select.expressions):
            _order_stars(scope, uses, sql)
        return
    # Where Spark is shown nothing else, its own `*` is right.
    windows = [u for u in by_alias.values() if u.window is not None]
    for use in windows:
        if not use.bare and not hidden and not _names_time(select, use):
            changes.narrow(use.name, use.shown.names)
    bare = not hidden and all(u.bare or not _names_time(select, u) for u in windows)
    written = TextChanges(select, column_lists=False) if bare else changes  # one that nobody reads
    if any(u.window is not None for u in by_alias.values()):
        _settle_natural_joins(scope, uses, written, sql)
    expressions: list[exp.Expr] = []
    for item in select.expressions:
        columns = _columns_of(item, scope, uses, hidden, sql)
        if columns is None:
            expressions.append(item)
            continue
        if _left_out(item):
            written.lost()
        else:
            written.star(item, columns)
        expressions += columns
    select.set("expressions", expressions)
    if not hidden:  # there such calls are refused
        _expand_arguments(scope, uses, written, sql)


def _names_time(select: exp.Expr, use: Use) -> bool:
    """Whether the time of a window may be named in a SELECT, or in what stands in it."""
    return use.time_column is None or any(
        column.name.lower() == use.time_column.lower() for column in select.find_all(exp.Column)
    )


def _order_stars(scope: Scope, uses: Mapping[str, Use], sql: str) -> None:
    """Write the columns of `a.*` where they are not those of the table in their order. Spark's own `*` is right."""
    select = scope.expression
    expressions: list[exp.Expr] = []
    for item in select.expressions:
        names = _names(scope, item.table, uses) if isinstance(item, exp.Column) and item.is_star else ()
        if names is None:
            leave_to_spark(select, "the order of columns beside USING is only supported on Spark")
        columns = None if not names else _columns_of(item, scope, uses, True, sql)
        expressions += [item] if columns is None else columns
    select.set("expressions", expressions)


def _columns_of(item: exp.Expr, scope: Scope, uses: Mapping[str, Use], hidden: bool, sql: str) -> list[exp.Expr] | None:
    """The columns that an item of a SELECT stands for, if it is `*`, `t.*` or one of these with EXCEPT."""
    star = item.this if isinstance(item, exp.Column) else item
    if not isinstance(star, exp.Star):
        return None
    left_out = _left_out(item)
    if isinstance(item, exp.Column):
        merged = bool(left_out) or merges(scope.expression)
        columns = _shown(item.table, scope, uses, hidden, merged=merged, sql=sql)
        if merges(scope.expression):
            order = star_order(scope.expression, lambda name: _names(scope, name, uses))
            if order is None:
                leave_to_spark(scope.expression, "the order of columns beside USING is only supported on Spark")
            else:
                places = {name: place for place, name in enumerate(order(item.table))}
                columns.sort(key=lambda c: places.get(c.name.lower(), len(places)))
    else:
        columns = _of_all(scope, uses, hidden, by_name=bool(left_out), sql=sql)
    names = [c.name.lower() for c in columns]
    for name in left_out:
        if name.lower() not in names:
            raise UnknownName("column", name, names, where=" in this FROM", sql=sql, span=span_of(item))
    return [c for c in columns if c.name.lower() not in {n.lower() for n in left_out}]


def _leaves_out_known(scope: Scope, uses: Mapping[str, Use]) -> bool:
    """Whether there are columns of all names that EXCEPT leaves out; others are an error, which sqlglot forgives."""
    for item in scope.expression.expressions:
        left_out = {name.lower() for name in _left_out(item)}
        if left_out:
            relations = [item.table] if isinstance(item, exp.Column) else _relations(scope.expression)
            known = {name.lower() for each in relations for name in _names(scope, each, uses) or ()}
            if not left_out <= known:
                return False
    return True


def _left_out(item: exp.Expr) -> list[str]:
    """What EXCEPT names."""
    star = item.this if isinstance(item, exp.Column) else item
    return [each.name for each in star.args.get("except_") or star.args.get("except") or ()]


def _of_all(scope: Scope, uses: Mapping[str, Use], hidden: bool, *, by_name: bool, sql: str) -> list[exp.Expr]:
    """The columns of `*`: of USING each once, before the others; of the right side of a semi or anti join none."""
    select = scope.expression
    joins = select.args.get("joins") or []
    by_name = by_name or any(j.args.get("using") for j in joins)
    joined = {join.this.alias_or_name: join for join in joins}
    found: list[exp.Expr] = []
    for alias in _relations(select):
        join = joined.get(alias)
        merged = [] if join is None else [each.name for each in join.args.get("using") or ()]
        if join is not None and join.kind.upper() in ("SEMI", "ANTI"):
            places = [name.lower() for name in merged]
            found.sort(key=lambda c: places.index(c.name.lower()) if c.name.lower() in places else len(places))
            continue
        columns = _shown(alias, scope, uses, hidden, merged=by_name, sql=sql)
        if merged:
            once = {name.lower() for name in merged}
            rest = [c for c in (*found, *columns) if c.name.lower() not in once]
            found = [*(exp.column(name) for name in merged), *rest]
        else:
            found += columns
    return found


def _relations(select: exp.Expr) -> list[str]:
    """The names of what stands in FROM, in its order. (The sources of a scope have its CTEs too, and first.)"""
    source = select.args.get("from_")
    waiting = [] if source is None else [source.this]
    waiting += [*(join.this for join in select.args.get("joins") or ()), *(select.args.get("laterals") or ())]
    names: list[str] = []
    while waiting:
        relation = waiting.pop(0)
        if isinstance(relation, exp.Subquery) and isinstance(relation.this, exp.Table) and not relation.alias:
            waiting = [relation.this, *waiting]  # (t JOIN s)
            continue
        names.append(relation.alias_or_name)
        if isinstance(relation, exp.Table):
            waiting = [*(join.this for join in relation.args.get("joins") or ()), *waiting]
    return names


def _shown(
    alias: str, scope: Scope, uses: Mapping[str, Use], hidden: bool, *, merged: bool, sql: str
) -> list[exp.Expr]:
    """What `*` shows of a relation. Where columns are to be `merged` or left out they are written one by one."""
    use = uses_by_alias(scope, uses).get(alias.lower())
    if use is None or (use.window is None and not hidden):
        if not merged and alias:
            return [exp.Column(this=exp.Star(), table=exp.to_identifier(alias))]
        names = _names(scope, alias, uses)
        if names is None:
            raise UnknownStar(
                "* is not supported beside a window in this query",
                detail=f'The columns of "{alias}" are not known here.' if alias else None,
                hint="Write the columns that you mean.",
                sql=sql,
            )
        return [exp.column(name, table=alias) for name in names]
    shown = use.table.explicit if use.window is not None and isinstance(use.table, StreamingTable) else use.columns
    return [exp.column(c.name, table=alias) for c in shown]


def _names(scope: Scope, alias: str, uses: Mapping[str, Use]) -> list[str] | None:
    """The columns that `*` shows of a relation, if they are known before names are resolved."""
    source = scope.sources.get(alias)
    if isinstance(source, exp.Table) and source.name in uses:
        use = uses[source.name]
        windowed = use.window is not None and isinstance(use.table, StreamingTable)
        return (use.table.explicit if windowed else use.columns).names  # type: ignore[union-attr]
    if isinstance(source, Scope) and isinstance(source.expression, exp.Values):
        return source.expression.alias_column_names or None
    if not isinstance(source, Scope) or not isinstance(source.expression, exp.Query):
        return None
    if "*" not in source.expression.named_selects:
        return list(source.expression.named_selects)
    if not isinstance(source.expression, exp.Select):
        return None
    found: list[str] = []
    for item in source.expression.selects:
        if not item.is_star:
            found.append(item.alias_or_name)
            continue
        inner = [item.table] if isinstance(item, exp.Column) else list(source.sources)
        for each in inner:
            names = _names(source, each, uses)
            if names is None or _left_out(item) or source.expression.args.get("joins"):
                return None
            found += names
    return found


def _settle_natural_joins(scope: Scope, uses: Mapping[str, Use], changes: TextChanges, sql: str) -> None:
    """A NATURAL JOIN with a window is over the columns that `*` shows of both sides."""
    joins = scope.expression.args.get("joins") or []
    if not any(join.method.upper() == "NATURAL" for join in joins):
        return
    changes.lost()
    left = _names(scope, scope.expression.args["from_"].this.alias_or_name, uses)
    shown = Counter(name.lower() for name in left or ())
    one_sided = False  # whether a join before gives rows, or columns, of one of its sides only
    for join in joins:
        right = _names(scope, join.this.alias_or_name, uses)
        if left is None or right is None:
            raise UnknownStar(
                "NATURAL JOIN is not supported beside a window in this query",
                detail="The columns of one side are not known here.",
                hint="Write JOIN ... USING (...).",
                sql=sql,
                span=span_of(join),
            )
        common: list[str] = []
        if join.method.upper() == "NATURAL":
            known = {name.lower() for name in right}
            common = [name for name in left if name.lower() in known]
            several = next((name for name in common if shown[name.lower()] > 1), None)
            if common and (several is not None or one_sided):
                told = (
                    f'Several tables before it have "{several}".'
                    if several is not None
                    else "It follows another outer or semi join."
                )
                raise UnsupportedSql(
                    "NATURAL JOIN is not supported beside a window in this query",
                    detail=told,
                    hint="Write JOIN ... ON with the columns.",
                    sql=sql,
                    span=span_of(join),
                )
            join.set("method", None)
            join.set("using", [exp.to_identifier(name) for name in dict.fromkeys(common)] or None)
        one_sided = one_sided or join.side.upper() in ("RIGHT", "FULL") or join.kind.upper() in ("SEMI", "ANTI")
        shown.update(name.lower() for name in right)
        shown.subtract({name.lower() for name in common})
        left = [*left, *right]


def _expand_arguments(scope: Scope, uses: Mapping[str, Use], changes: TextChanges, sql: str) -> None:
    """`*` as the argument of a function, such as struct(*) or count(DISTINCT *). COUNT(*) and APPROX_COUNT(*, e) count rows."""
    for star in list(scope.expression.find_all(exp.Star)):
        node = star.parent if isinstance(star.parent, exp.Column) else star
        call, key = node.parent, node.arg_key
        if not isinstance(call, (exp.Func, exp.Distinct)) or isinstance(call, exp.Count):
            continue
        if node.parent_select is not scope.expression or is_approximate(call):
            continue
        columns = _columns_of(node, scope, uses, False, sql)
        assert columns is not None
        assert key is not None
        if any(c.is_star for c in columns):
            if isinstance(node, exp.Column):  # of a relation without a window
                continue
            columns = _of_all(scope, uses, False, by_name=True, sql=sql)
        changes.star(node, columns)
        if isinstance(call.args[key], list):
            place = next(i for i, each in enumerate(call.args[key]) if each is node)
            call.set(key, [*call.args[key][:place], *columns, *call.args[key][place + 1 :]])
        else:
            call.set(key, columns[0])
            call.set("expressions", [*columns[1:], *call.expressions])


def check_stars(tree: exp.Expr, sql: str) -> None:
    """In a query that names hidden columns, `*` may stand only where its columns can be written instead."""
    for star in tree.find_all(exp.Star):
        if isinstance(star.parent, (exp.Func, exp.Distinct)) and not isinstance(star.parent, exp.Count):
            raise _hidden_beside("* in a call", sql, span_of(star))
    for join in tree.find_all(exp.Join):
        if join.method.upper() == "NATURAL":
            raise _hidden_beside("NATURAL JOIN", sql, span_of(join))


def _hidden_beside(what: str, sql: str, span: Span | None) -> UnsupportedSql:
    return UnsupportedSql(
        f"{what} is not supported in a query that names _seq or PREV",
        detail="These columns are hidden: * does not show them.",
        hint="Write the columns that you mean.",
        sql=sql,
        span=span,
    )


def with_row_numbers(tree: exp.Expr) -> list[Scope]:
    """The scopes of a qualified tree. `qualify` keeps `_seq` out of `*` and leaves it alone where it is named: it becomes
    a column like others again."""
    for scope in traverse_scope(tree):
        for node in list(scope.find_all(exp.Pseudocolumn)):
            table = node.args.get("table")
            if table is None and len(scope.sources) == 1:
                table = exp.to_identifier(next(iter(scope.sources)), quoted=True)
            node.replace(exp.Column(this=node.this, table=table))
    return traverse_scope(tree)
