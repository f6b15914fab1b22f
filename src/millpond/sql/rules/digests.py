"""MD5, SHA1 and SHA2 of texts, and values out of JSON texts."""

from __future__ import annotations

import re

from sqlglot import exp

from millpond.sql.rules.terms import STRING, NotOnDuckDB, Rule, Translator, Value, only, only_spark, text, unproved

_PATH = re.compile(r"\$((\.[A-Za-z_][A-Za-z0-9_]*)+)")
_PLAIN_NUMBER = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,5}[1-9])?"


def digest(node: exp.MD5 | exp.SHA, tr: Translator) -> Value:
    only(node, "this")
    value = tr.value(node.this)
    if value.type != STRING:
        raise NotOnDuckDB(f"a digest of {value.type} is only supported on Spark")
    name = "md5" if isinstance(node, exp.MD5) else "sha1"
    return Value(f"{name}({value.sql})", STRING, value.raises)


def digest_of_length(node: exp.SHA2, tr: Translator) -> Value:
    only(node, "this", "length")
    value = tr.value(node.this)
    length = tr.value(node.args["length"]).constant if node.args.get("length") is not None else None
    if value.type != STRING or length not in (0, 256) or isinstance(length, bool):
        raise NotOnDuckDB("such a sha2 is only supported on Spark")
    return Value(f"sha256({value.sql})", STRING, value.raises)


def json_value(node: exp.Anonymous, tr: Translator) -> Value:
    """GET_JSON_OBJECT of a path of names. Objects, arrays, and numbers in other forms than the plain one, are left to Spark."""
    if len(node.expressions) != 2:
        raise NotOnDuckDB(unproved(node))
    value, path = tr.values(node.expressions)
    found = _PATH.fullmatch(path.constant) if isinstance(path.constant, str) else None
    if value.type != STRING or found is None:
        raise NotOnDuckDB("get_json_object with such a path is only supported on Spark")
    names = found.group(1)[1:].split(".")
    x, full = value.sql, text(str(path.constant))
    prefixes = [text("$" + "".join(f".{name}" for name in names[:i])) for i in range(len(names))]
    objects = " AND ".join(f"coalesce(json_type({x}, {prefix}), 'OBJECT') = 'OBJECT'" for prefix in prefixes)
    string = f"json_extract_string({x}, {full})"
    sql = (
        f"CASE WHEN {x} IS NULL THEN NULL "
        f"WHEN NOT json_valid({x}) THEN {only_spark('a text that is not JSON')} "
        f"WHEN NOT ({objects}) THEN {only_spark('such a JSON text')} "
        f"WHEN coalesce(json_type({x}, {full}), 'NULL') = 'NULL' THEN NULL "
        f"WHEN json_type({x}, {full}) IN ('VARCHAR', 'BOOLEAN') OR (json_type({x}, {full}) NOT IN ('OBJECT', 'ARRAY') "
        f"AND regexp_full_match({string}, '{_PLAIN_NUMBER}')) THEN {string} "
        f"ELSE {only_spark('such a JSON value')} END"
    )
    return Value(sql, STRING, True)


RULES: dict[type[exp.Expression], Rule] = {exp.MD5: digest, exp.SHA: digest, exp.SHA2: digest_of_length}

FUNCTIONS: dict[str, Rule] = {"get_json_object": json_value}
