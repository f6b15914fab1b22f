"""Column names: the same on both engines, and where it can be said simply, the ones Spark itself would give.

Spark names an unnamed output after its expression (`sum(spd)`, `(a + 1)`, `count(1)`) and keeps the spelling of the
query (`SELECT VID` gives `VID`). sqlglot's `qualify` would call it `_col_0` and lower-case it. So:

- `name_outputs`, before `qualify`, writes an alias behind every unnamed output; a tree treated so has the same names on
  any engine, whatever the engine would have chosen;
- `spell_outputs`, after `qualify`, puts the spelling back on the names the user will see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

_SPELLING = "spelling"

_INFIX: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
}
_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Count: "count",
    exp.Abs: "abs",
    exp.Upper: "upper",
    exp.Lower: "lower",
    exp.Length: "length",
    exp.Coalesce: "coalesce",
    exp.Greatest: "greatest",
    exp.Least: "least",
    exp.Concat: "concat",
    exp.Sqrt: "SQRT",
}


def name_outputs(query: exp.Expr) -> exp.Expr:
    """Give every unnamed output of every SELECT in `query` a name, in place; run it on both engines' trees.

    >>> from sqlglot import parse_one
    >>> name_outputs(parse_one("SELECT VID, count(*), spd + 1 FROM p", read="spark")).sql("spark")
    'SELECT VID AS VID, COUNT(*) AS `count(1)`, spd + 1 AS `(spd + 1)` FROM p'
    """
    for node in list(query.find_all(exp.Select, exp.Values)):
        if isinstance(node, exp.Values):
            _name_values(node)
            continue
        for projection in node.expressions:
            if isinstance(projection, exp.Alias):
                identifier = projection.args["alias"]
                identifier.meta[_SPELLING] = identifier.name
            elif not projection.is_star and not isinstance(projection, exp.Aliases):
                name = _describe(_under_casts(projection))
                plain = name.isidentifier() and name.isascii()
                identifier = exp.to_identifier(name, quoted=not plain)
                identifier.meta[_SPELLING] = name
                projection.replace(exp.Alias(this=projection.copy(), alias=identifier))
    return query


def _under_casts(node: exp.Expr) -> exp.Expr:
    """A column behind casts lends them its name."""
    inner = node
    while isinstance(inner, (exp.Cast, exp.TryCast)) and not inner.args.get("safe"):
        inner = inner.this
    return inner if isinstance(inner, exp.Column) else node


def _name_values(node: exp.Values) -> None:
    """VALUES without column names: Spark calls them col1, col2, ..."""
    alias = node.args.get("alias")
    if alias is None or alias.args.get("columns") or not node.expressions:
        return
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    alias.set("columns", [exp.to_identifier(f"col{i}") for i in range(1, width + 1)])


def _describe(node: exp.Expr) -> str:
    """Spark's name for an expression; for the rarer ones, its SQL text."""
    kind = node.__class__
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Literal):
        return str(node.this)
    if isinstance(node, exp.Paren):
        return _describe(node.this)
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Neg):
        inner = _describe(node.this)
        return f"-{inner}" if isinstance(node.this, exp.Literal) else f"(- {inner})"
    if kind in _INFIX:
        return f"({_describe(node.this)} {_INFIX[kind]} {_describe(node.expression)})"
    if isinstance(node, exp.NEQ):
        return f"(NOT ({_describe(node.this)} = {_describe(node.expression)}))"
    if isinstance(node, exp.Not):
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return f"({_describe(node.this.this)} IS NOT NULL)"
        return f"(NOT {_describe(node.this)})"
    if isinstance(node, exp.Is):
        return f"({_describe(node.this)} IS {_describe(node.expression)})"
    if isinstance(node, (exp.Cast, exp.TryCast)) and not node.args.get("safe"):
        return f"CAST({_describe(node.this)} AS {node.to.sql('spark')})"
    if isinstance(node, exp.Case):
        return _describe_case(node)
    if kind in _FUNCTIONS:
        return f"{_FUNCTIONS[kind]}({', '.join(_arguments(node))})"
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        return f"{node.name.lower()}({', '.join(_describe(each) for each in node.expressions)})"
    return node.sql("spark")


def _describe_case(node: exp.Case) -> str:
    if node.this is not None:
        return node.sql("spark")
    branches = [f"WHEN {_describe(each.this)} THEN {_describe(each.args['true'])}" for each in node.args["ifs"]]
    default = node.args.get("default")
    tail = f" ELSE {_describe(default)}" if default is not None else ""
    return f"CASE {' '.join(branches)}{tail} END"


def _arguments(node: exp.Expr) -> list[str]:
    first = node.this
    if isinstance(first, exp.Star):
        return ["1"]
    if isinstance(first, exp.Distinct):
        return ["DISTINCT " + ", ".join(_describe(each) for each in first.expressions)]
    children = ([first] if first is not None else []) + list(node.args.get("expressions") or ())
    return [_describe(child) for child in children]


def spell_outputs(query: exp.Expr, tables: Mapping[str, Iterable[str]]) -> exp.Expr:
    """Put the user's spelling back on the outermost names of a qualified tree, in place.

    `tables` gives the columns of base tables as they are spelled in the catalog, by table name.
    """
    spelled = {name.lower(): {column.lower(): column for column in columns} for name, columns in tables.items()}
    root = query
    while isinstance(root, (exp.SetOperation, exp.Subquery)):
        root = root.this
    if isinstance(root, exp.Select):
        for projection, name in zip(root.expressions, _spelled_names(root, spelled, {}), strict=True):
            if isinstance(projection, exp.Alias) and projection.alias != name:
                old = projection.alias
                projection.args["alias"].set("this", name)
                _respell_order(query, old, name)
    return query


def _respell_order(query: exp.Expr, old: str, name: str) -> None:
    """ORDER BY refers to the outputs by name."""
    order = query.args.get("order")
    for column in order.find_all(exp.Column) if order is not None else ():
        if not column.table and column.name == old:
            column.this.set("this", name)


_Spelled = dict[str, dict[str, str]]


def _spelled_names(node: exp.Expr, tables: _Spelled, ctes: _Spelled) -> list[str]:
    while isinstance(node, (exp.SetOperation, exp.Subquery)):
        ctes = _with_ctes(node, tables, ctes)
        node = node.this
    if not isinstance(node, exp.Select):
        return [each.name for each in node.selects] if isinstance(node, exp.Query) else []
    ctes = _with_ctes(node, tables, ctes)
    names = []
    sources: _Spelled | None = None
    for projection in node.expressions:
        identifier = projection.args.get("alias") if isinstance(projection, exp.Alias) else None
        name = projection.alias_or_name
        if identifier is not None and _SPELLING in identifier.meta:
            name = identifier.meta[_SPELLING]
        else:  # it came out of a star: spelled as in the source it comes from
            inner = projection.unalias()
            inner = inner.this if isinstance(inner, exp.Coalesce) else inner
            if isinstance(inner, exp.Column):
                sources = sources if sources is not None else _source_names(node, tables, ctes)
                name = sources.get(inner.table, {}).get(inner.name.lower(), name)
        names.append(name)
    return names


def _with_ctes(node: exp.Expr, tables: _Spelled, ctes: _Spelled) -> _Spelled:
    clause = node.args.get("with_")
    if clause is None:
        return ctes
    ctes = dict(ctes)
    for cte in clause.expressions:
        ctes[cte.alias.lower()] = {name.lower(): name for name in _spelled_names(cte.this, tables, ctes)}
    return ctes


def _source_names(node: exp.Select, tables: _Spelled, ctes: _Spelled) -> _Spelled:
    from_ = node.args.get("from_")
    found = [from_.this] if from_ is not None else []
    found += [join.this for join in node.args.get("joins") or ()]
    names: _Spelled = {}
    for source in found:
        if isinstance(source, exp.Table):
            names[source.alias_or_name] = ctes.get(source.name.lower()) or tables.get(source.name.lower(), {})
        elif isinstance(source, exp.Subquery):
            names[source.alias_or_name] = {name.lower(): name for name in _spelled_names(source, tables, ctes)}
    return names
