"""Arrays, inside a query: SPLIT, COLLECT_LIST and COLLECT_SET, and what is made of them. A column of arrays is left to Spark.

None of the arrays that are made here has a NULL in it. An index beyond the end is an error, as in Spark.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.schema import DataType
from millpond.sql.rules.arguments import Aggregate, argument, filtered_by, in_order, no_window, row_order
from millpond.sql.rules.picks import orderable
from millpond.sql.rules.strings import literal_pattern
from millpond.sql.rules.terms import (
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    NotOnDuckDB,
    Rule,
    Translator,
    Value,
    duck,
    only,
    text,
    unproved,
)
from millpond.sql.rules.types import convert


def _array(node: exp.Expression, value: Value) -> DataType:
    """The type of an array's elements."""
    if not isinstance(value.type, ArrayType):
        raise NotOnDuckDB(f"{unproved(node).split(' is ')[0]} of {value.type} is only supported on Spark")
    return value.type.element


def split(node: exp.RegexpSplit, tr: Translator) -> Value:
    """By a text. (By a regular expression that matches several texts it is left to Spark.)"""
    only(node, "this", "expression")
    value, pattern = tr.value(node.this), tr.value(node.expression)
    if value.type != STRING or not isinstance(pattern.constant, str):
        raise NotOnDuckDB(unproved(node))
    separator = literal_pattern(pattern.constant)
    return Value(f"string_split({value.sql}, {text(separator)})", ArrayType.of(STRING), value.raises)


def part_of_split(node: exp.SplitPart, tr: Translator) -> Value:
    only(node, "this", "delimiter", "part_index")
    value, separator, index = tr.values((node.this, node.args["delimiter"], node.args["part_index"]))
    known = isinstance(separator.constant, str) and separator.constant and isinstance(index.constant, int)
    if value.type != STRING or not known or not index.constant or index.type != INT:
        raise NotOnDuckDB("such a split_part is only supported on Spark")
    return Value(f"split_part({value.sql}, {separator.sql}, {index.constant})", STRING, value.raises)


def element(node: exp.Bracket, tr: Translator) -> Value:
    """`a[0]`, and ELEMENT_AT, which counts from 1 and from the end."""
    only(node, "this", "expressions", "offset", "safe")
    array = tr.value(node.this)
    kind = _array(node, array)
    index = tr.value(node.expressions[0]).constant if len(node.expressions) == 1 else None
    offset = int(node.args.get("offset") or 0)
    if isinstance(index, bool) or not isinstance(index, int) or index < offset or abs(index) > 1_000_000:
        raise NotOnDuckDB("an element at such a place is only supported on Spark")
    place = index - offset + 1
    beyond = f"error('an array has no element at {index}')"
    sql = (
        f"list_transform([{array.sql}], lambda a: CASE WHEN a IS NULL OR len(a) >= {place} THEN a[{place}] "
        f"ELSE {beyond} END)[1]"
    )
    return Value(sql, kind, True)


def size(node: exp.ArraySize, tr: Translator) -> Value:
    only(node, "this")
    return _size(node, tr.value(node.this))


def cardinality(node: exp.Anonymous, tr: Translator) -> Value:
    if len(node.expressions) != 1:
        raise NotOnDuckDB(unproved(node))
    return _size(node, tr.value(node.expressions[0]))


def _size(node: exp.Expression, array: Value) -> Value:
    _array(node, array)
    return Value(f"CAST(len({array.sql}) AS INTEGER)", INT, array.raises)


def joined(node: exp.ArrayToString, tr: Translator) -> Value:
    only(node, "this", "expression")
    array, separator = tr.value(node.this), tr.value(node.expression)
    if _array(node, array) != STRING or not isinstance(separator.constant, str):
        raise NotOnDuckDB("array_join of anything but texts is only supported on Spark")
    sql = f"CASE WHEN {array.sql} IS NOT NULL THEN coalesce(array_to_string({array.sql}, {separator.sql}), '') END"
    return Value(sql, STRING, array.raises)


def contains(node: exp.ArrayContains, tr: Translator) -> Value:
    only(node, "this", "expression", "ensure_variant")
    array = tr.value(node.this)
    wanted = convert(tr.value(node.expression), _array(node, array))
    sql = f"CASE WHEN {wanted.sql} IS NOT NULL THEN list_contains({array.sql}, {wanted.sql}) END"
    return Value(sql, BOOLEAN, array.raises or wanted.raises)


def sorted_(node: exp.ArraySort, tr: Translator) -> Value:
    only(node, "this", "nulls_first")
    array = tr.value(node.this)
    if not orderable(Value("", _array(node, array))):
        raise NotOnDuckDB(unproved(node))
    return Value(f"list_sort({array.sql}, 'ASC', 'NULLS FIRST')", array.type, array.raises)


def exploded(node: exp.Explode, tr: Translator) -> Value:
    """EXPLODE in SELECT: a row for each element, none for an array without elements."""
    only(node, "this")
    select = node.parent_select
    assert select is not None
    several = len([e for e in select.expressions if e.find(exp.Explode, exp.Posexplode)]) > 1
    if several or any(select.args.get(key) for key in ("group", "having", "distinct", "qualify")):
        raise NotOnDuckDB("explode in such a query is only supported on Spark")
    if any(e.find(exp.AggFunc, exp.Window) for e in select.expressions):
        raise NotOnDuckDB("explode beside aggregates is only supported on Spark")
    return elements(node, tr)


def elements(node: exp.Explode, tr: Translator) -> Value:
    array = tr.value(node.this)
    if node.__class__ is not exp.Explode or not isinstance(array.type, ArrayType):
        raise NotOnDuckDB(unproved(node))
    return Value(f"unnest({array.sql})", array.type.element, array.raises)


# -- aggregates --------------------------------------------------------------------------------------------------------


def collect(node: exp.Expression, tr: Translator, suffix: str, keep: Value | None) -> Value:
    """COLLECT_LIST and ARRAY_AGG, in the order of rows; of distinct values, whose order is open, in that of values."""
    name = unproved(node).split(" ")[1]
    no_window(name, suffix)
    only(node, "this", "nulls_excluded", "row_order")
    prefix, value = argument(node, tr, keep)
    distinct = bool(prefix) or isinstance(node, exp.ArrayUniqueAgg)
    rows = [] if distinct else row_order(node, tr)
    if rows is None or not orderable(value) or (distinct and value.type == DOUBLE):
        raise NotOnDuckDB(f"{name} of rows without an order is only supported on Spark")
    listed = f"list({'DISTINCT ' if distinct else ''}{value.sql}{in_order([*rows, value.sql])})"
    kind = ArrayType.of(value.type)
    sql = f"coalesce({listed}{filtered_by(keep, f'{value.sql} IS NOT NULL')}, CAST([] AS {duck(kind)}))"
    return Value(sql, kind, value.raises)


AGGREGATES: dict[type[exp.Expression], Aggregate] = {exp.ArrayAgg: collect, exp.ArrayUniqueAgg: collect}

RULES: dict[type[exp.Expression], Rule] = {
    exp.RegexpSplit: split,
    exp.SplitPart: part_of_split,
    exp.Bracket: element,
    exp.ArraySize: size,
    exp.ArrayToString: joined,
    exp.ArrayContains: contains,
    exp.ArraySort: sorted_,
}

FUNCTIONS: dict[str, Rule] = {"cardinality": cardinality}
