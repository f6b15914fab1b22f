"""Queries: SELECT with its clauses, joins, set operations, CTEs and VALUES.

Names: the tree is qualified, so every column says its table. Columns of base tables are typed by their annotation (it
comes from the schema); columns of subqueries and CTEs by the types worked out here.

Of correlated subqueries only those pass that Spark supports for certain: the outer column is in WHERE, one level up;
a scalar one is a single ungrouped aggregate compared by equality. DuckDB would accept more, and Spark raise.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millpond.schema import DataType
from millpond.sql.literals import NULL, SEPARATOR, LiteralRows, folded_rows
from millpond.sql.rules.arguments import direction
from millpond.sql.rules.arrays import elements, exploded
from millpond.sql.rules.conditions import condition, flat
from millpond.sql.rules.functions import rows_of
from millpond.sql.rules.groups import check_respelled, group_by, plain_zero
from millpond.sql.rules.terms import (
    BIGINT,
    DOUBLE,
    VOID,
    Columns,
    NotOnDuckDB,
    Relation,
    RelationRule,
    Rule,
    Scope,
    Translator,
    Value,
    check_left,
    duck,
    only,
    quoted,
    text,
    type_of,
    unproved,
)
from millpond.sql.rules.types import common, common_of, convert

_AGGREGATE_NODES = (exp.AggFunc,)
RANGE = "__range"
"""What stands for the rows of range(...): nobody can write it, because it is not among the functions that may be called."""


def column(node: exp.Column, tr: Translator) -> Value:
    name, scope = node.name, tr.scope
    table = node.text("table")
    if not table:
        alias = scope.aliases.get(name.lower())
        if alias is None:
            raise NotOnDuckDB(f'column "{name}" is not qualified')
        return alias
    sources: dict[str, Columns] = scope.sources
    if table not in sources:
        outer = scope.outer
        if outer is None or table not in outer.sources or scope.clause != "where":
            raise NotOnDuckDB("such a correlated subquery is only supported on Spark")
        scope.correlated.append(node)
        sources = outer.sources
    columns = sources[table]
    if columns is None:
        type = type_of(node.type)
    else:
        found = columns.get(name.lower())
        if found is None:
            raise NotOnDuckDB(f'column "{name}" is not known')
        type = found
    return Value(f"{quoted(table)}.{quoted(name)}", type)


# -- SELECT ------------------------------------------------------------------------------------------------------------

_CLAUSES = (
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_",
    "windows", "hint", "qualify", "laterals",
)  # fmt: skip


def select(node: exp.Select, tr: Translator) -> Relation:
    only(node, *_CLAUSES)
    check_left(node)
    before = tr.scope
    # A subquery in an expression sees the enclosing scope; one in FROM does not (it is not LATERAL).
    outer = before if before.clause not in ("from", "query") else None
    if before.clause in ("group", "order", "on"):
        raise NotOnDuckDB(f"a subquery in {before.clause} is only supported on Spark")
    scope = tr.scope = Scope(dict(before.ctes), outer)
    try:
        relation = _select(node, tr, scope)
    finally:
        tr.scope = before
    if scope.correlated:
        _check_correlated(node, scope)
    return relation


def _select(node: exp.Select, tr: Translator, scope: Scope) -> Relation:
    args = node.args
    parts = [_with(node, tr), "SELECT "]
    if args.get("distinct") is not None:
        only(args["distinct"])
        parts.append("DISTINCT ")
    source = _from(node, tr, scope)
    scope.windows = {each.name.lower(): each for each in args.get("windows") or ()}
    scope.clause = "where"
    where = f" WHERE {condition(args['where'].this, tr).sql}" if args.get("where") else ""
    scope.clause = "group"
    group = group_by(args["group"], tr) if args.get("group") else ""
    if group:
        check_respelled(node)
    scope.clause = "select"
    projections = [_projection(projection, tr) for projection in args["expressions"]]
    if args.get("having") and args.get("group"):
        _check_having(args["having"], args["group"])
    kept = [condition(args["having"].this, tr).sql] if args.get("having") else []
    if scope.grouping_sets:  # DuckDB gives a row for the empty set even if there are no rows, and Spark none
        kept.insert(0, "count(*) > 0")
    having = f" HAVING {' AND '.join(kept)}" if kept else ""
    qualified = ""
    if args.get("qualify") is not None:
        if any(args.get(key) for key in ("group", "having", "distinct")) or _aggregates(node):
            raise NotOnDuckDB("QUALIFY of groups is only supported on Spark")
        scope.aliases = {name.lower(): value for name, value in reversed(projections)}
        qualified = f" QUALIFY {condition(args['qualify'].this, tr).sql}"
        scope.aliases = {}
    scope.clause = "order"
    tail = _order_and_limit(node, tr, projections, distinct=args.get("distinct") is not None)
    keys = None if args.get("distinct") is not None else set(scope.group_keys or ())
    shown = [(name, plain_zero(value) if keys is None or value.sql in keys else value) for name, value in projections]
    parts.append(", ".join(f"{value.sql} AS {quoted(name)}" for name, value in shown))
    parts += [source, where, group, having, qualified, tail]
    return Relation("".join(parts), [(name, value.type) for name, value in projections], simple=True)


def _check_having(having: exp.Expression, group: exp.Expression) -> None:
    """Behind grouping sets, Spark does not find every key in HAVING."""
    if not group.find(exp.GroupingSets, exp.Rollup, exp.Cube):
        return
    if any(isinstance(c.find_ancestor(exp.AggFunc, exp.Having), exp.Having) for c in having.find_all(exp.Column)):
        raise NotOnDuckDB("a key of grouping sets in HAVING is only supported on Spark")
    assert having.parent is not None
    if having.parent.args.get("order") and having.find(exp.Grouping, exp.GroupingId):
        raise NotOnDuckDB("GROUPING in HAVING beside ORDER BY is only supported on Spark")


def _projection(node: exp.Expression, tr: Translator) -> tuple[str, Value]:
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        return node.alias, exploded(node.this, tr) if isinstance(node.this, exp.Explode) else tr.value(node.this)
    return node.output_name or "", tr.value(node)


def _aggregates(node: exp.Select) -> bool:
    """Whether it has an aggregate that is not a window function."""
    items = [*node.expressions, node.args["qualify"].this]
    found = (each for item in items for each in item.find_all(exp.AggFunc))
    return any(each.find_ancestor(exp.Window, exp.Select) is node for each in found)


def _lateral_view(node: exp.Lateral, tr: Translator, scope: Scope) -> str:
    """LATERAL VIEW [OUTER] explode(array) t AS x."""
    only(node, "this", "view", "outer", "alias")
    alias = node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
    if not node.args.get("view") or not isinstance(node.this, exp.Explode) or not node.alias or len(names) != 1:
        raise NotOnDuckDB("such a lateral view is only supported on Spark")
    found = elements(node.this, tr)
    _declare(scope, node.alias, {names[0].lower(): found.type})
    inner = f"(SELECT {found.sql} AS {quoted(names[0])}) AS {quoted(node.alias)}"
    return f" LEFT JOIN LATERAL {inner} ON TRUE" if node.args.get("outer") else f" CROSS JOIN LATERAL {inner}"


def _check_correlated(node: exp.Select, scope: Scope) -> None:
    parent = node.parent
    while isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.Subquery):
        parent = parent.parent
    for key in ("group", "having", "limit", "offset", "distinct", "windows", "with_", "qualify"):
        if node.args.get(key):
            raise NotOnDuckDB("such a correlated subquery is only supported on Spark")
    _check_outer(node)
    grandparent = parent.parent if isinstance(parent, exp.Subquery) else None
    aggregated = any(projection.find(exp.AggFunc, exp.Window) for projection in node.selects)
    if isinstance(parent, exp.Exists) or isinstance(grandparent, (exp.Exists, exp.In)) or isinstance(parent, exp.In):
        if aggregated:
            raise NotOnDuckDB("a correlated subquery with an aggregate in EXISTS or IN is only supported on Spark")
        return
    bare = [projection.unalias() for projection in node.selects]
    if len(bare) != 1 or not isinstance(bare[0], _AGGREGATE_NODES) or bare[0].find(exp.Window):
        raise NotOnDuckDB("a correlated scalar subquery that is not one aggregate is only supported on Spark")
    outer = {id(each) for each in scope.correlated}
    for part in _conjuncts(node.args["where"].this):
        inside = [each for each in part.find_all(exp.Column) if id(each) in outer]
        if inside and not (isinstance(part, exp.EQ) and any(side in inside for side in (part.this, part.expression))):
            raise NotOnDuckDB("a scalar subquery correlated by more than equality is only supported on Spark")


def _conjuncts(where: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions of which all must hold, without their parentheses."""
    where = where.unnest()
    if isinstance(where, exp.And):
        for part in flat(where):
            yield from _conjuncts(part)
    else:
        yield where


def _check_outer(node: exp.Select) -> None:
    """A correlated subquery in the output of a query with aggregates obeys rules of its own in Spark."""
    outer = node.find_ancestor(exp.Select)
    if outer is None or node.find_ancestor(exp.Where, exp.Select) is not outer:
        return
    grouped = outer.args.get("group") or outer.args.get("having")
    if grouped or any(each.find_ancestor(exp.Select) is outer for each in outer.find_all(exp.AggFunc)):
        raise NotOnDuckDB("a correlated subquery beside aggregates is only supported on Spark")


def _with(node: exp.Expression, tr: Translator) -> str:
    clause = node.args.get("with_")
    if clause is None:
        return ""
    if clause.args.get("recursive"):
        raise NotOnDuckDB("a recursive query is only supported on Spark")
    parts = []
    for cte in clause.expressions:
        only(cte, "this", "alias")
        if cte.args["alias"].args.get("columns"):
            raise NotOnDuckDB("a CTE with named columns is only supported on Spark")
        relation = tr.relation(cte.this)
        tr.scope.ctes[cte.alias.lower()] = _columns(relation)
        parts.append(f"{quoted(cte.alias)} AS ({relation.sql})")
    return f"WITH {', '.join(parts)} "


def _columns(relation: Relation) -> dict[str, DataType]:
    columns: dict[str, DataType] = {}
    for name, type in relation.columns:
        if type == VOID:
            raise NotOnDuckDB("a column of bare NULLs is only supported on Spark")
        if name.lower() in columns:
            raise NotOnDuckDB("a subquery with two columns of one name is only supported on Spark")
        columns[name.lower()] = type
    return columns


# -- FROM --------------------------------------------------------------------------------------------------------------


def _from(node: exp.Select, tr: Translator, scope: Scope) -> str:
    clause = node.args.get("from_")
    if clause is None:
        return ""
    first = f" FROM {_source(clause.this, tr, scope)}"
    joined = first + "".join(_join(join, tr, scope) for join in node.args.get("joins") or ())
    return joined + "".join(_lateral_view(each, tr, scope) for each in node.args.get("laterals") or ())


def _source(node: exp.Expression, tr: Translator, scope: Scope) -> str:
    if isinstance(node, exp.Table) and node.this.name.lower() in tr.user and isinstance(node.this, exp.Anonymous):
        relation = rows_of(node.this, tr)
        _declare(scope, node.alias, _columns(relation))
        return f"({relation.sql}) AS {quoted(node.alias)}"
    if isinstance(node, exp.Table):
        return _table(node, scope)
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias")
        if not node.alias or node.args["alias"].args.get("columns"):
            raise NotOnDuckDB("a subquery with named columns is only supported on Spark")
        relation = tr.relation(node.this)
        _declare(scope, node.alias, _columns(relation))
        return f"({relation.sql}) AS {quoted(node.alias)}"
    if isinstance(node, exp.Values):
        return _values(node, tr, scope)
    raise NotOnDuckDB(unproved(node))


def _table(node: exp.Table, scope: Scope) -> str:
    """A table, or what stands for it: `meta["duckdb"]` is DuckDB text to read instead of the name (files, a scan)."""
    only(node, "this", "db", "catalog", "alias")
    if not isinstance(node.this, exp.Identifier):
        raise NotOnDuckDB(unproved(node.this))
    alias = node.args.get("alias")
    if alias is not None:
        only(alias, "this")
    instead = node.meta.get("duckdb")
    if instead is None and node.meta.get("window") is not None:
        raise NotOnDuckDB("a window must be resolved before translation")
    columns = scope.ctes.get(node.name.lower()) if not node.db else None
    sql = instead or ".".join(quoted(part.name) for part in node.parts)
    _declare(scope, node.alias_or_name, columns)
    return f"{sql} AS {quoted(node.alias_or_name)}"


def _declare(scope: Scope, name: str, columns: Columns) -> None:
    if name in scope.sources:
        raise NotOnDuckDB(f'two tables called "{name}" are only supported on Spark')
    scope.sources[name] = columns


def _values(node: exp.Values, tr: Translator, scope: Scope) -> str:
    only(node, "expressions", "alias")
    alias = node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
    rows = [tr.values(row.expressions if isinstance(row, exp.Tuple) else [row]) for row in node.expressions]
    if not names or any(len(row) != len(names) for row in rows):
        raise NotOnDuckDB("VALUES without named columns is only supported on Spark")
    types = [common_of([row[i] for row in rows]) for i in range(len(names))]
    _declare(scope, node.alias, _columns(Relation("", list(zip(names, types, strict=True)))))
    listed = ", ".join(quoted(name) for name in names)
    folded = folded_rows(node)
    if folded is not None:
        return f"({_unnested(folded, types)}) AS {quoted(node.alias)}({listed})"
    lines = [", ".join(convert(v, t).sql for v, t in zip(row, types, strict=True)) for row in rows]
    return f"(VALUES {', '.join(f'({line})' for line in lines)}) AS {quoted(node.alias)}({listed})"


def _unnested(rows: LiteralRows, types: list[DataType]) -> str:
    """A long list of rows in DuckDB's words: a text for each column. It takes some 50 us for each literal that it reads."""
    if VOID in types:
        raise NotOnDuckDB("a column of bare NULLs is only supported on Spark")
    columns = []
    for place, type in enumerate(types):
        values = f"unnest(string_split({text(rows.joined(place))}, {text(SEPARATOR)}))"
        columns.append(f"CAST(nullif({values}, {text(NULL)}) AS {duck(type)})")
    return f"SELECT {', '.join(columns)}"


_JOINS = {
    ("", ""): "JOIN",
    ("", "INNER"): "JOIN",
    ("", "CROSS"): "CROSS JOIN",
    ("LEFT", ""): "LEFT JOIN",
    ("LEFT", "OUTER"): "LEFT JOIN",
    ("RIGHT", ""): "RIGHT JOIN",
    ("RIGHT", "OUTER"): "RIGHT JOIN",
    ("FULL", ""): "FULL JOIN",
    ("FULL", "OUTER"): "FULL JOIN",
    ("LEFT", "SEMI"): "SEMI JOIN",
    ("", "SEMI"): "SEMI JOIN",
    ("LEFT", "ANTI"): "ANTI JOIN",
    ("", "ANTI"): "ANTI JOIN",
}


def _join(node: exp.Join, tr: Translator, scope: Scope) -> str:
    only(node, "this", "side", "kind", "on")
    kind = _JOINS.get(((node.side or "").upper(), (node.kind or "").upper()))
    if kind is None:
        raise NotOnDuckDB(f"a {node.side} {node.kind} join is only supported on Spark")
    source = _source(node.this, tr, scope)
    on = node.args.get("on")
    if on is None:
        if kind not in ("JOIN", "CROSS JOIN"):
            raise NotOnDuckDB("an outer, semi or anti join without ON is only supported on Spark")
        return f" CROSS JOIN {source}"
    if on.find(exp.Query):
        raise NotOnDuckDB("a subquery in ON is only supported on Spark")
    if kind == "CROSS JOIN":
        kind = "JOIN"
    scope.clause = "on"
    joined = f" {kind} {source} ON {condition(on, tr).sql}"
    scope.clause = "from"
    return joined


# -- ORDER BY, LIMIT ---------------------------------------------------------------------------------------------------


def _order_and_limit(
    node: exp.Expression, tr: Translator, projections: list[tuple[str, Value]], *, distinct: bool
) -> str:
    """ORDER BY by position where the key is an output column: a name could mean a column of a table as well."""
    parts = []
    order = node.args.get("order")
    if order is not None:
        only(order, "expressions")
        aliases = tr.scope.aliases = {}
        for name, value in reversed(projections):
            aliases[name.lower()] = value
        by_text = {value.sql: i for i, (_, value) in reversed(list(enumerate(projections, 1)))}
        items = []
        for item in order.expressions:
            key = _order_key(item.this, tr)
            place = by_text.get(key.sql)
            if distinct and (place is None or not isinstance(item.this, exp.Column)):
                raise NotOnDuckDB("ordering distinct rows by something else is only supported on Spark")
            if place is None and node.args.get("having") and item.find(exp.AggFunc):
                raise NotOnDuckDB("HAVING beside an order by another aggregate is only supported on Spark")
            if place is None and key.is_constant:
                raise NotOnDuckDB("ordering by a constant is only supported on Spark")
            items.append((str(place) if place is not None else key.sql) + direction(item))
        tr.scope.aliases = {}
        parts.append(f" ORDER BY {', '.join(items)}")
    for key_, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        clause = node.args.get(key_)
        if clause is not None:
            only(clause, "expression")
            number = clause.expression
            plain = isinstance(clause, (exp.Limit, exp.Offset)) and isinstance(number, exp.Literal)
            if not (plain and number.name.isdigit()):
                raise NotOnDuckDB(f"such a {word} is only supported on Spark")
            parts.append(f" {word} {number.name}")
    return "".join(parts)


def _order_key(node: exp.Expression, tr: Translator) -> Value:
    """A sort key. A bare column needs no type here: the planner adds such keys behind the annotation."""
    if isinstance(node, exp.Column) and node.type is None and tr.scope.sources.get(node.table, {}) is None:
        return Value(f"{quoted(node.table)}.{quoted(node.name)}", VOID)
    return tr.value(node)


# -- set operations ----------------------------------------------------------------------------------------------------

_SET_WORDS: dict[type[exp.Expression], str] = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


def set_operation(node: exp.SetOperation, tr: Translator) -> Relation:
    only(node, "this", "expression", "distinct", "order", "limit", "offset", "with_")
    before = tr.scope
    scope = tr.scope = Scope(dict(before.ctes), None)
    scope.clause = "query"
    try:
        with_ = _with(node, tr)
        left, right = tr.relation(node.this), tr.relation(node.expression)
        if len(left.columns) != len(right.columns):
            raise NotOnDuckDB("the sides of a set operation differ in width")
        types = [common(a, b) for (_, a), (_, b) in zip(left.columns, right.columns, strict=True)]
        word = _SET_WORDS[node.__class__] + ("" if node.args.get("distinct") else " ALL")
        zeros = word != "UNION ALL"
        sql = f"({_widened(left, types, zeros)}) {word} ({_widened(right, types, zeros)})"
        columns = [(name, type) for (name, _), type in zip(left.columns, types, strict=True)]
        outputs = [(name, Value(f"#{i}", type)) for i, (name, type) in enumerate(columns)]
        tail = _order_and_limit(node, tr, outputs, distinct=True)
    finally:
        tr.scope = before
    return Relation(with_ + sql + tail, columns)


def _widened(relation: Relation, types: list[DataType], zeros: bool) -> str:
    """A side of a set operation with its columns brought to the common types (DuckDB's own choice differs). With `zeros`
    there is only one zero."""
    zeros = zeros and DOUBLE in types
    if not zeros and all(found == type for (_, found), type in zip(relation.columns, types, strict=True)):
        return relation.sql
    names = [f"c{i}" for i in range(len(types))]
    listed = ", ".join(
        f"{_with_zero(convert(Value(quoted(name), found), type), zeros).sql} AS {quoted(output)}"
        for name, (output, found), type in zip(names, relation.columns, types, strict=True)
    )
    return f'SELECT {listed} FROM ({relation.sql}) AS "side"({", ".join(quoted(name) for name in names)})'


def _with_zero(value: Value, zeros: bool) -> Value:
    return plain_zero(value) if zeros else value


def parenthesised(node: exp.Subquery, tr: Translator) -> Relation:
    only(node, "this")
    return tr.relation(node.this)


_MOST_IN_RANGE = 1_000_000  # it is made as one list


def whole_range(node: exp.Anonymous, tr: Translator) -> Value:
    given = [int(each.sql("duckdb")) for each in node.expressions]
    if len(given) != 3 or given[2] == 0 or len(range(*given)) > _MOST_IN_RANGE:
        raise NotOnDuckDB("such a range is only supported on Spark")
    return Value(f"unnest(range({', '.join(map(str, given))}))", BIGINT)


RULES: dict[type[exp.Expression], Rule] = {exp.Column: column}
FUNCTIONS: dict[str, Rule] = {RANGE: whole_range}

RELATIONS: dict[type[exp.Expression], RelationRule] = {
    exp.Select: select,
    exp.Union: set_operation,
    exp.Except: set_operation,
    exp.Intersect: set_operation,
    exp.Subquery: parenthesised,
}
