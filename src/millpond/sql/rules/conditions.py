"""Comparisons, logic, and the functions that choose between values.

Spark evaluates AND and OR from left to right and stops when the answer is known; `WHERE n <> 0 AND 10 / n > 1` relies
on it. DuckDB may evaluate all operands of a row, or reorder them. So an operand that can raise is put behind a CASE
that repeats what stands before it; operands that cannot raise stay bare, and the archive can still be pruned by them.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from millpond.sql.literals import SEPARATOR, each_literal, ints_of, kind_of, list_of, texts_of
from millpond.sql.rules.terms import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    STRING,
    VOID,
    NotOnDuckDB,
    Rule,
    Translator,
    Value,
    duck,
    only,
    text,
    unproved,
)
from millpond.sql.rules.types import common, common_of, convert, is_number, literal
from millpond.sql.spark_names import ORIGINAL_NAME

_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


def parenthesis(node: exp.Paren, tr: Translator) -> Value:
    return tr.value(node.this)


def condition(node: exp.Expression, tr: Translator) -> Value:
    """A value that stands where a truth value is needed."""
    value = tr.value(node)
    if value.type != BOOLEAN:
        raise NotOnDuckDB(f"{value.type} as a condition is only supported on Spark")
    return value


def comparison(node: exp.Expression, tr: Translator) -> Value:
    return compare(_COMPARISONS[node.__class__], tr.value(node.this), tr.value(node.args["expression"]))


def compare(symbol: str, left: Value, right: Value) -> Value:
    left, right = _meet(left, right)
    return Value(f"({left.sql} {symbol} {right.sql})", BOOLEAN, left.raises or right.raises)


def _meet(left: Value, right: Value) -> tuple[Value, Value]:
    if left.type == BINARY or right.type == BINARY:
        raise NotOnDuckDB("comparing BINARY is only supported on Spark")
    if left.type == right.type or (left.type.is_integer and right.type.is_integer):
        return left, right  # DuckDB widens integers as Spark does; no cast hides the column from pruning
    type = common(left.type, right.type)
    return convert(left, type), convert(right, type)


def between(node: exp.Between, tr: Translator) -> Value:
    only(node, "this", "low", "high")
    value = tr.value(node.this)
    low, high = compare(">=", value, tr.value(node.args["low"])), compare("<=", value, tr.value(node.args["high"]))
    return _joined([low, high], "AND", decided="FALSE")


def flat(node: exp.And | exp.Or) -> list[exp.Expression]:
    """The operands of a chain of ANDs or of ORs, from left to right."""
    found: list[Any] = list(node.flatten())
    return found


def conjunction(node: exp.And, tr: Translator) -> Value:
    return _joined([condition(part, tr) for part in flat(node)], "AND", decided="FALSE")


def disjunction(node: exp.Or, tr: Translator) -> Value:
    return _joined([condition(part, tr) for part in flat(node)], "OR", decided="TRUE")


def _joined(values: list[Value], operator: str, *, decided: str) -> Value:
    """Conditions with AND or OR between them. One that may raise is not asked where those before it have `decided`."""
    parts: list[str] = []
    for i, value in enumerate(values):
        if value.raises and i:
            before = f" {operator} ".join(each.sql for each in values[:i])
            parts.append(f"CASE WHEN ({before}) IS NOT {decided} THEN {value.sql} ELSE {decided} END")
        else:
            parts.append(value.sql)
    return Value(f"({f' {operator} '.join(parts)})", BOOLEAN, any(value.raises for value in values))


def opposite(node: exp.Not, tr: Translator) -> Value:
    value = condition(node.this, tr)
    return Value(f"(NOT {value.sql})", BOOLEAN, value.raises)


def is_(node: exp.Is, tr: Translator) -> Value:
    """`IS NULL`, `IS TRUE`, `IS FALSE`; the NOT stands around it."""
    only(node, "this", "expression")
    value = tr.value(node.this)
    if isinstance(node.expression, exp.Null):
        return Value(f"({value.sql} IS NULL)", BOOLEAN, value.raises)
    if isinstance(node.expression, exp.Boolean) and value.type == BOOLEAN:
        return Value(f"({value.sql} IS {'TRUE' if node.expression.this else 'FALSE'})", BOOLEAN, value.raises)
    raise NotOnDuckDB(unproved(node))


def null_test(node: exp.Anonymous, tr: Translator) -> Value:
    """`isnull(x)` and `isnotnull(x)`."""
    if len(node.expressions) != 1:
        raise NotOnDuckDB(unproved(node))
    value = tr.value(node.expressions[0])
    test = "IS NULL" if node.name.lower() == "isnull" else "IS NOT NULL"
    return Value(f"({value.sql} {test})", BOOLEAN, value.raises)


def nan_test(node: exp.IsNan, tr: Translator) -> Value:
    value = tr.value(node.this)
    if value.type not in (DOUBLE, FLOAT):
        raise NotOnDuckDB(f"isnan of {value.type} is only supported on Spark")
    return Value(f"coalesce(isnan({value.sql}), FALSE)", BOOLEAN, value.raises)  # of NULL it is false, not NULL


def membership(node: exp.In, tr: Translator) -> Value:
    """`x IN (1, 2)`, and `x IN (SELECT ...)`."""
    query = node.args.get("query")
    if query is not None:
        _check_place(node)
        return _in_query(tr.value(node.this), query, tr)
    only(node, "this", "expressions")
    value = tr.value(node.this)
    folded = list_of(node)
    if folded is not None and (value.type.is_integer if kind_of(folded) == "int" else value.type == STRING):
        return Value(f"({value.sql} IN ({_listed(folded)}))", BOOLEAN, value.raises)
    values = [value, *tr.values(each_literal(node))]
    if not all(value.type.is_integer for value in values):
        type = common_of(values)
        values = [convert(value, type) for value in values]
    if any(value.raises for value in values[1:]):
        raise NotOnDuckDB("in with elements that can fail is only supported on Spark")
    sql = f"({values[0].sql} IN ({', '.join(value.sql for value in values[1:])}))"
    return Value(sql, BOOLEAN, values[0].raises)


_MOST_LISTED = 1000


def _listed(folded: exp.Literal) -> str:
    """A long list of literals in DuckDB's words. It reads each as Spark does, but takes some 50 us for it; one text is fast."""
    if folded.this.count(",") < _MOST_LISTED or SEPARATOR in folded.this:
        return str(folded.this)
    if kind_of(folded) == "int":
        return f"SELECT CAST(unnest(string_split('{','.join(map(str, ints_of(folded)))}', ',')) AS BIGINT)"
    return f"SELECT unnest(string_split({text(SEPARATOR.join(texts_of(folded)))}, {text(SEPARATOR)}))"


def _check_place(node: exp.In) -> None:
    """Refuse an IN with a query where it matters that Spark may give FALSE for it instead of NULL.

    In WHERE it becomes a semi or an anti join, which is right. Elsewhere Spark asks whether a match exists, and NULL is
    lost: that does no harm below ANDs and ORs of a WHERE, but it does in an output or below a NOT.
    """
    negated = mixed = False
    parent = node.parent
    while isinstance(parent, (exp.Paren, exp.And, exp.Or, exp.Not)):
        if (isinstance(parent, exp.Not) and (negated or mixed)) or (isinstance(parent, exp.Or) and negated):
            break
        negated = negated or isinstance(parent, exp.Not)
        mixed = mixed or isinstance(parent, (exp.And, exp.Or))
        parent = parent.parent
    if not isinstance(parent, exp.Where):
        raise NotOnDuckDB("in with a query anywhere but in WHERE is only supported on Spark")


def _in_query(value: Value, query: exp.Expression, tr: Translator) -> Value:
    relation = tr.relation(query.this if isinstance(query, exp.Subquery) else query)
    if len(relation.columns) != 1:
        raise NotOnDuckDB("in with several columns is only supported on Spark")
    found = relation.columns[0][1]
    if found == VOID:
        raise NotOnDuckDB("in with a column of bare NULLs is only supported on Spark")
    sql = relation.sql
    if value.type != found:
        type = common(value.type, found)
        value = convert(value, type)
        if found != type:
            column = convert(Value('"c"', found), type)
            sql = f'SELECT {column.sql} FROM ({sql}) AS "q"("c")'
    return Value(f"({value.sql} IN ({sql}))", BOOLEAN, value.raises)


def existence(node: exp.Exists, tr: Translator) -> Value:
    only(node, "this")
    query = node.this
    relation = tr.relation(query.this if isinstance(query, exp.Subquery) else query)
    return Value(f"EXISTS ({relation.sql})", BOOLEAN)


def scalar_query(node: exp.Subquery, tr: Translator) -> Value:
    """A query used as a value: NULL when it has no row, an error on both engines when it has several."""
    only(node, "this")
    relation = tr.relation(node.this)
    if len(relation.columns) != 1 or relation.columns[0][1] == VOID:
        raise NotOnDuckDB("such a scalar subquery is only supported on Spark")
    return Value(f"({relation.sql})", relation.columns[0][1], True)


def case(node: exp.Case, tr: Translator) -> Value:
    tests, results = [], []
    operand = tr.value(node.this) if node.this is not None else None
    for branch in node.args["ifs"]:
        if operand is None:
            tests.append(condition(branch.this, tr))
        else:
            tests.append(compare("=", operand, tr.value(branch.this)))
        results.append(tr.value(branch.args["true"]))
    default = node.args.get("default")
    results.append(tr.value(default) if default is not None else literal(None, VOID))
    return _choice(tests, results)


def if_(node: exp.If, tr: Translator) -> Value:
    if node.args.get("false") is None:
        raise NotOnDuckDB(unproved(node))
    return _choice([condition(node.this, tr)], tr.values((node.args["true"], node.args["false"])))


def nvl2(node: exp.Nvl2, tr: Translator) -> Value:
    value = tr.value(node.this)
    test = Value(f"({value.sql} IS NOT NULL)", BOOLEAN, value.raises)
    return _choice([test], tr.values((node.args["true"], node.args["false"])))


def _choice(tests: list[Value], results: list[Value]) -> Value:
    """A searched CASE whose last result is the ELSE."""
    type = common_of(results)
    if type == VOID:
        raise NotOnDuckDB("a choice between NULLs is only supported on Spark")
    raises = any(value.raises for value in (*tests, *results))
    results = [convert(value, type) for value in results]
    branches = " ".join(f"WHEN {t.sql} THEN {r.sql}" for t, r in zip(tests, results[:-1], strict=True))
    return Value(f"CASE {branches} ELSE {results[-1].sql} END", type, raises)


def coalesce(node: exp.Coalesce, tr: Translator) -> Value:
    parts = (node.this, *node.expressions)
    if ORIGINAL_NAME not in node.meta and all(isinstance(part, exp.Column) for part in parts):
        return _merged(parts, tr)
    return _several("coalesce", tr.values(parts))


def _merged(parts: tuple[exp.Expression, ...], tr: Translator) -> Value:
    """A column of USING or NATURAL, as sqlglot writes it. Spark shows that of the left side if no join is right or full."""
    select = parts[0].parent_select
    while select is not None and parts[0].text("table") not in {source.alias_or_name for source in _sources(select)}:
        select = select.parent_select
    joins = select.args.get("joins") or () if select is not None else ()
    if joins and all(join.side.upper() not in ("RIGHT", "FULL") for join in joins):
        return tr.value(parts[0])
    values = tr.values(parts)
    if len({value.type for value in values}) > 1:
        raise NotOnDuckDB("USING of columns of different types is only supported on Spark")
    return _several("coalesce", values)


def _sources(select: exp.Expr) -> list[exp.Expr]:
    source = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or ()]
    return joined if source is None else [source.this, *joined]


def extreme(node: exp.Greatest | exp.Least, tr: Translator) -> Value:
    """GREATEST and LEAST pass over NULL and take NaN for the largest, on both engines."""
    values = tr.values((node.this, *node.expressions))
    if len({value.type == STRING for value in values if value.type != VOID}) > 1:
        raise NotOnDuckDB(f"{node.key} of a string among others is only supported on Spark")
    return _several(node.key, values)


def _several(name: str, values: list[Value]) -> Value:
    type = common_of(values)
    if type == VOID:
        raise NotOnDuckDB(f"{name} of NULLs is only supported on Spark")
    raises = any(value.raises for value in values)
    values = [convert(value, type) for value in values]
    if name != "coalesce" and len(values) < 2:
        raise NotOnDuckDB(f"{name} of one value is only supported on Spark")
    return Value(f"CAST({name}({', '.join(value.sql for value in values)}) AS {duck(type)})", type, raises)


def nullif(node: exp.Nullif, tr: Translator) -> Value:
    value, other = tr.value(node.this), tr.value(node.expression)
    if value.type == VOID:
        raise NotOnDuckDB("nullif of NULL is only supported on Spark")
    test = compare("=", value, other)
    return Value(f"CASE WHEN {test.sql} THEN NULL ELSE {value.sql} END", value.type, test.raises)


def unchanged(node: exp.Anonymous, tr: Translator) -> Value:
    """`+x`"""
    value = tr.value(node.expressions[0])
    if len(node.expressions) != 1 or not is_number(value.type):
        raise NotOnDuckDB(unproved(node))
    return Value(value.sql, value.type, value.raises)


RULES: dict[type[exp.Expression], Rule] = {
    exp.Paren: parenthesis,
    **dict.fromkeys(_COMPARISONS, comparison),
    exp.Between: between,
    exp.And: conjunction,
    exp.Or: disjunction,
    exp.Not: opposite,
    exp.Is: is_,
    exp.IsNan: nan_test,
    exp.In: membership,
    exp.Exists: existence,
    exp.Subquery: scalar_query,
    exp.Case: case,
    exp.If: if_,
    exp.Nvl2: nvl2,
    exp.Coalesce: coalesce,
    exp.Greatest: extreme,
    exp.Least: extreme,
    exp.Nullif: nullif,
}

FUNCTIONS: dict[str, Rule] = {"positive": unchanged, "isnull": null_test, "isnotnull": null_test}
