"""String functions and pattern matching. Both engines hold UTF-8, compare bytes and count code points.

They part on case mapping of some letters, on regular expressions, on NULL in `concat`, on odd positions in `substring`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from sqlglot import exp

from millpond.sql.rules.numbers import cast_value
from millpond.sql.rules.terms import (
    BOOLEAN,
    INT,
    STRING,
    NotOnDuckDB,
    Rule,
    Translator,
    Value,
    error_too_long,
    only,
    only_spark,
    text,
    unproved,
)
from millpond.sql.rules.types import literal
from millpond.sql.sizes import LONGEST_TEXT

# Letters that Spark (ICU, full mapping) and DuckDB (utf8proc, simple mapping) change differently, found by mapping all
# letters on both. Spark also looks at what stands beside a capital sigma.
_NEW = r"\x{1c89}\x{1c8a}\x{a7cb}-\x{a7dc}\x{10d40}-\x{10d8f}"  # letters of Unicode 15 and 16
_ODD_LOWER = r"\x{130}\x{3a3}" + _NEW
_ODD_UPPER = (
    r"\x{df}\x{149}\x{19b}\x{1f0}\x{264}\x{390}\x{3b0}\x{587}\x{1e96}-\x{1e9a}\x{1f50}-\x{1fff}\x{fb00}-\x{fb17}" + _NEW
)

_GROWS = 16  # a function may make a text so many times as long, whatever its length

# Of Java's regular expressions, what RE2 reads the same way once `.` and `$` are spelled out.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_REGEX_TOKEN = re.compile(
    r"""(?P<plain>[A-Za-z0-9 _\-,:;/@#%&=<>~"'!]|[^\x00-\x7f])
      | (?P<escaped>\\[.\\+*?\[\]{}()|^$\-/])
      | (?P<class>\\[dDwW])
      | (?P<dot>\.)
      | (?P<end>\$)
      | (?P<structure>\^|\||\(\?:|\((?!\?)|\)|[*+?]\??(?![+*?])|\{\d{1,3}(,\d{0,3})?\}(?![+*?]))
      | (?P<set>\[\^?(?:[A-Za-z0-9_ .,:;/@#%=<>~"'!+*?(){}|$]|\\[dDwW.\-\\\]\[^]|(?<=[A-Za-z0-9])-(?=[A-Za-z0-9]))+\])
    """,
    re.VERBOSE,
)


def _strings(node: exp.Expression, *values: Value) -> None:
    for value in values:
        if value.type != STRING:
            raise NotOnDuckDB(f"{unproved(node).split(' is ')[0]} of {value.type} is only supported on Spark")


def _raises(*values: Value) -> bool:
    return any(value.raises for value in values)


def _count(node: exp.Expression, value: Value, least: int) -> int:
    if not isinstance(value.constant, int) or value.constant < least:
        raise NotOnDuckDB(f"{unproved(node).split(' is ')[0]} with such a number is only supported on Spark")
    return value.constant


def _as_string(value: Value) -> Value:
    return cast_value(value, STRING)


def length(node: exp.Length, tr: Translator) -> Value:
    only(node, "this")
    value = tr.value(node.this)
    _strings(node, value)
    return Value(f"CAST(length({value.sql}) AS INTEGER)", INT, value.raises)


def letter_case(node: exp.Lower | exp.Upper, tr: Translator) -> Value:
    value = tr.value(node.this)
    _strings(node, value)
    name, odd = ("lower", _ODD_LOWER) if isinstance(node, exp.Lower) else ("upper", _ODD_UPPER)
    # All-ASCII strings, the rule, are told apart by their byte count before the pattern is tried.
    ascii_only = f"strlen({value.sql}) = length({value.sql})"
    sql = (
        f"CASE WHEN {ascii_only} OR NOT regexp_matches({value.sql}, '[{odd}]') THEN {name}({value.sql}) "
        f"WHEN {value.sql} IS NULL THEN NULL ELSE {only_spark(f'{name} of unusual letters')} END"
    )
    return Value(sql, STRING, True)


def concatenation(node: exp.Concat, tr: Translator) -> Value:
    if "safe" not in node.args:
        # Without that mark of the function, it is what sqlglot makes of 'it''s', where Spark reads a quote.
        raise NotOnDuckDB("strings side by side are only supported on Spark")
    values = [_as_string(value) for value in tr.values(node.expressions)]
    return _together(node, "concat", values, _piped([value.sql for value in values]))


def pipes(node: exp.DPipe, tr: Translator) -> Value:
    operands, waiting = [], [node.expression, node.this]
    while waiting:
        found = waiting.pop()
        if isinstance(found, exp.DPipe):
            waiting += [found.expression, found.this]
        else:
            operands.append(found)
    values = [_as_string(value) for value in tr.values(operands)]
    return _together(node, "||", values, _piped([value.sql for value in values]))


def joined(node: exp.ConcatWs, tr: Translator) -> Value:
    values = [_as_string(value) for value in tr.values(node.expressions)]
    if len(values) < 2:
        raise NotOnDuckDB(unproved(node))
    return _together(node, "concat_ws", values, f"concat_ws({', '.join(value.sql for value in values)})")


def _piped(texts: Sequence[str]) -> str:
    """A chain of ||, in halves: DuckDB holds what each link gives, for all rows of a batch, until the chain is done."""
    if len(texts) == 1:
        return texts[0]
    middle = len(texts) // 2
    return f"({_piped(texts[:middle])} || {_piped(texts[middle:])})"


def _together(node: exp.Expression, name: str, values: Sequence[Value], sql: str) -> Value:
    """Texts put together; guarded if the whole may be many times as long as the texts of the rows it is made of."""
    if len(values) <= _GROWS and sum(1 for _ in node.find_all(exp.Column)) <= _GROWS:
        return Value(sql, STRING, _raises(*values))
    lengths = [f"coalesce(strlen({value.sql}), 0)" for value in values if not value.is_constant]
    if not lengths:
        return Value(sql, STRING, _raises(*values))
    if name == "concat_ws":
        lengths.append(f"{len(values)} * coalesce(strlen({values[0].sql}), 0)")
    guard = f"CASE WHEN {_added(lengths)} > {LONGEST_TEXT} THEN {error_too_long(name)}"
    return Value(f"{guard} ELSE {sql} END", STRING, True)


def _added(terms: Sequence[str]) -> str:
    """A sum, in halves: a long one is not deep."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({_added(terms[:middle])} + {_added(terms[middle:])})"


def substring(node: exp.Substring, tr: Translator) -> Value:
    """Spark: position 0 is 1; a negative one counts from the end and may lie before the start."""
    only(node, "this", "start", "length")
    value, start = tr.value(node.this), tr.value(node.args["start"])
    _strings(node, value)
    position = _count(node, start, -1_000_000)
    size = _count(node, tr.value(node.args["length"]), 0) if node.args.get("length") is not None else None
    if position >= 0:
        end = f", {size}" if size is not None else ""
        return Value(f"substring({value.sql}, {max(position, 1)}{end})", STRING, value.raises)
    tail = f"right({value.sql}, {-position})"
    if size is None:
        return Value(tail, STRING, value.raises)
    # A string shorter than the distance loses what would stand before its start.
    missing = f"greatest({-position} - length({value.sql}), 0)"
    return Value(f"left({tail}, greatest({size} - {missing}, 0))", STRING, value.raises)


def edge(node: exp.Left | exp.Right, tr: Translator) -> Value:
    value, size = tr.value(node.this), tr.value(node.expression)
    _strings(node, value)
    return Value(f"{node.key}({value.sql}, {_count(node, size, 0)})", STRING, value.raises)


def trim(node: exp.Trim, tr: Translator) -> Value:
    only(node, "this", "expression", "position")
    value = tr.value(node.this)
    characters = tr.value(node.expression) if node.expression else literal(" ", STRING)
    _strings(node, value, characters)
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(node.text("position").upper(), "trim")
    return Value(f"{name}({value.sql}, {characters.sql})", STRING, _raises(value, characters))


def trim_both(node: exp.Anonymous, tr: Translator) -> Value:
    values = tr.values(node.expressions)
    _strings(node, *values)
    if len(values) not in (1, 2):
        raise NotOnDuckDB(unproved(node))
    characters = values[1].sql if len(values) == 2 else "' '"
    return Value(f"trim({values[0].sql}, {characters})", STRING, _raises(*values))


def pad(node: exp.Pad, tr: Translator) -> Value:
    value, size = tr.value(node.this), tr.value(node.expression)
    fill = tr.value(node.args["fill_pattern"]) if node.args.get("fill_pattern") else literal(" ", STRING)
    _strings(node, value, fill)
    if not fill.constant or not isinstance(fill.constant, str):
        raise NotOnDuckDB("padding with anything but a constant, non-empty string is only supported on Spark")
    name = "lpad" if node.args.get("is_left") else "rpad"
    return Value(f"{name}({value.sql}, {_count(node, size, 0)}, {fill.sql})", STRING, value.raises)


def position(node: exp.StrPosition, tr: Translator) -> Value:
    only(node, "this", "substr")
    value, part = tr.value(node.this), tr.value(node.args["substr"])
    _strings(node, value, part)
    return Value(f"CAST(instr({value.sql}, {part.sql}) AS INTEGER)", INT, _raises(value, part))


def replace(node: exp.Replace, tr: Translator) -> Value:
    only(node, "this", "expression", "replacement")
    if node.args.get("replacement") is None:
        raise NotOnDuckDB("replace without a replacement is only supported on Spark")
    values = tr.values((node.this, node.expression, node.args["replacement"]))
    _strings(node, *values)
    sql = f"replace({', '.join(value.sql for value in values)})"
    value, part, new = values
    if isinstance(part.constant, str) and isinstance(new.constant, str):
        grows = len(new.constant.encode()) / max(1, len(part.constant.encode()))
        if grows <= _GROWS:
            return Value(sql, STRING, _raises(*values))
    size = f"CAST(strlen({value.sql}) AS DOUBLE) * strlen({new.sql}) / greatest(1, strlen({part.sql}))"
    guarded = f"CASE WHEN {size} > {LONGEST_TEXT} AND strlen({new.sql}) > {_GROWS} * strlen({part.sql}) THEN "
    return Value(f"{guarded}{error_too_long('replace')} ELSE {sql} END", STRING, True)


def repeat(node: exp.Repeat, tr: Translator) -> Value:
    """Of a chain of them, the whole is guarded once: a guard needs the text of what is repeated twice."""
    counts = []
    inner: exp.Expression = node
    while isinstance(inner, exp.Repeat):
        counts.append(_count(inner, tr.value(inner.args["times"]), 0))
        inner = inner.this
    value = tr.value(inner)
    _strings(node, value)
    count = math.prod(counts)
    sql = value.sql
    for each in reversed(counts):
        sql = f"repeat({sql}, {each})"
    if isinstance(value.constant, str) or count <= _GROWS:
        return Value(sql, STRING, value.raises)
    guard = f"CASE WHEN CAST(strlen({value.sql}) AS DOUBLE) * {count} > {LONGEST_TEXT} THEN {error_too_long('repeat')}"
    return Value(f"{guard} ELSE {sql} END", STRING, True)


def affix(node: exp.StartsWith | exp.EndsWith | exp.Contains, tr: Translator) -> Value:
    value, part = tr.value(node.this), tr.value(node.expression)
    _strings(node, value, part)
    name = {exp.StartsWith: "starts_with", exp.EndsWith: "ends_with", exp.Contains: "contains"}[node.__class__]
    return Value(f"{name}({value.sql}, {part.sql})", BOOLEAN, _raises(value, part))


def like(node: exp.Like, tr: Translator) -> Value:
    return _like(node, tr, "\\")


def ilike(node: exp.ILike, tr: Translator) -> Value:
    return _like(node, tr, "\\")


def escaped(node: exp.Escape, tr: Translator) -> Value:
    character = tr.value(node.expression).constant
    plain = isinstance(character, str) and len(character) == 1 and character not in "%_"
    if not plain or not isinstance(node.this, (exp.Like, exp.ILike)):
        raise NotOnDuckDB("such an ESCAPE is only supported on Spark")
    return _like(node.this, tr, str(character))


def _like(node: exp.Like | exp.ILike, tr: Translator, escape: str) -> Value:
    only(node, "this", "expression", "negate")
    value = _like_plain(node, tr, escape)
    return Value(f"(NOT {value.sql})", BOOLEAN, value.raises) if node.args.get("negate") else value


def _like_plain(node: exp.Like | exp.ILike, tr: Translator, escape: str) -> Value:
    if isinstance(node.expression, (exp.Any, exp.All)):
        raise NotOnDuckDB("like any and like all are only supported on Spark")
    value, pattern = tr.value(node.this), tr.value(node.expression)
    _strings(node, value, pattern)
    if not isinstance(pattern.constant, str):
        raise NotOnDuckDB("like with a pattern that is not a constant is only supported on Spark")
    # Spark allows the escape only before %, _ and itself, and raises otherwise.
    mark = re.escape(escape)
    if re.search(f"{mark}(?![%_])", re.sub(mark * 2, "", pattern.constant)):
        raise NotOnDuckDB("like with a stray escape is only supported on Spark")
    clause = f" ESCAPE {text(escape)}" if escape in pattern.constant else ""
    if isinstance(node, exp.Like):
        return Value(f"({value.sql} LIKE {pattern.sql}{clause})", BOOLEAN, value.raises)
    sql = (
        f"CASE WHEN {value.sql} IS NULL THEN NULL WHEN strlen({value.sql}) = length({value.sql}) "
        f"OR NOT regexp_matches({value.sql}, '[{_ODD_LOWER}]') "
        f"THEN {value.sql} ILIKE {pattern.sql}{clause} ELSE {only_spark('ilike of unusual letters')} END"
    )
    if not pattern.constant.isascii():
        raise NotOnDuckDB("ilike with such a pattern is only supported on Spark")
    return Value(sql, BOOLEAN, True)


def matches(node: exp.RegexpLike, tr: Translator) -> Value:
    only(node, "this", "expression")
    value, pattern = tr.value(node.this), tr.value(node.expression)
    _strings(node, value, pattern)
    if not isinstance(pattern.constant, str):
        raise NotOnDuckDB("rlike with a pattern that is not a constant is only supported on Spark")
    return Value(f"regexp_matches({value.sql}, {text(java_to_re2(pattern.constant))})", BOOLEAN, value.raises)


def java_to_re2(pattern: str) -> str:
    """A Java regular expression in RE2's words, for a yes-or-no search; refuses all that is not proved.

    >>> java_to_re2("^a.c$") == r"^a[^\\n\\r\\x{85}\\x{2028}\\x{2029}]c(?:\\r\\n|[\\n\\r\\x{85}\\x{2028}\\x{2029}])?\\z"
    True
    """
    parts, place = [], 0
    while place < len(pattern):
        token = _REGEX_TOKEN.match(pattern, place)
        if token is None:
            raise NotOnDuckDB(f"the regular expression {pattern!r} is only supported on Spark")
        place = token.end()
        if token["dot"]:
            parts.append(f"[^{_LINE_ENDS}]")  # RE2's dot stops only at \n
        elif token["end"]:
            if place < len(pattern):
                raise NotOnDuckDB("a regular expression with $ inside is only supported on Spark")
            parts.append(rf"(?:\r\n|[{_LINE_ENDS}])?\z")  # Java's $ also stands before a last line end
        else:
            parts.append(token.group())
    return "".join(parts)


def literal_pattern(pattern: str) -> str:
    """The only text that a Java regular expression matches; refuses one that matches others, or none, or the empty one.

    >>> literal_pattern(r"a\\.b")
    'a.b'
    """
    parts, place = [], 0
    while place < len(pattern):
        token = _REGEX_TOKEN.match(pattern, place)
        if token is None or not (token["plain"] or token["escaped"]):
            raise NotOnDuckDB(f"a split by the regular expression {pattern!r} is only supported on Spark")
        place = token.end()
        parts.append(token["plain"] or token["escaped"][1:])
    if not parts:
        raise NotOnDuckDB("a split by the empty text is only supported on Spark")
    return "".join(parts)


RULES: dict[type[exp.Expression], Rule] = {
    exp.Length: length,
    exp.Lower: letter_case,
    exp.Upper: letter_case,
    exp.Concat: concatenation,
    exp.DPipe: pipes,
    exp.ConcatWs: joined,
    exp.Substring: substring,
    exp.Left: edge,
    exp.Right: edge,
    exp.Trim: trim,
    exp.Pad: pad,
    exp.StrPosition: position,
    exp.Replace: replace,
    exp.Repeat: repeat,
    exp.StartsWith: affix,
    exp.EndsWith: affix,
    exp.Contains: affix,
    exp.Like: like,
    exp.ILike: ilike,
    exp.Escape: escaped,
    exp.RegexpLike: matches,
}

FUNCTIONS: dict[str, Rule] = {"btrim": trim_both}
