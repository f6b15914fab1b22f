"""What Spark calls an unnamed output: its own text for the expression, which is not the user's.

`spd+1` is `(spd + 1)`, `count(*)` is `count(1)`, `a <> b` is `(NOT (a = b))`, and a window function shows the frame that it has
by default. Names come from what was written, before anything is resolved: a tree of sqlglot's has other names and orders of
arguments than the text, so the parser notes for each call what it is called (`note_call`).

Invariant: `describe` gives Spark's name or raises `NoName`; whoever asks then leaves the query to Spark. Two things it cannot
see: types (`d + 1` of a date is `date_add(d, 1)`) and whether a subquery is correlated. `sql.naming` looks at these when types
and tables are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp

from millpond.sql.literal_names import NoName, moment_name, number_name, signed_name, type_name
from millpond.sql.literals import list_of
from millpond.sql.moments import Moments

CALL: Final = "spark_call"  # in the meta of a call: what Spark calls it
WRITTEN: Final = (
    "written"  # in the meta of a cast: 'cast' (also for ::), 'try_cast', 'suffix' (1L); none for DATE '...'
)
ORIGINAL_NAME: Final = "millpond_name"  # in the meta of a call that sqlglot has a class for: the name that was written
IS_NOT: Final = "is_not"  # in the meta of a NOT: it was written `x IS NOT NULL`
DATED: Final = "dated"  # in the meta of a sum that was taken for one of dates or timestamps


_INFIX: Final[dict[type[exp.Expr], str]] = {
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
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}


def describe(node: exp.Expr) -> str:
    """Spark's name for an expression, as it was parsed; raises `NoName`."""
    noted = node.meta_get(CALL)
    if noted is not None:
        assert isinstance(noted, str)
        return noted
    kind = node.__class__
    if kind is exp.Add or kind is exp.Sub:
        return _sum(node)
    if kind in _INFIX:
        return f"({describe(node.this)} {_INFIX[kind]} {describe(node.expression)})"
    rule = _RULES.get(kind)
    if rule is None:
        raise NoName
    return rule(node)


def _sum(node: exp.Expr) -> str:
    """Sums of dates and timestamps have names of their own, which shows in `DATED`."""
    left, right = describe(node.this), describe(node.expression)
    plus = isinstance(node, exp.Add)
    kinds = _MOMENTS.kind(node.this), _MOMENTS.kind(node.expression)
    if kinds == ("", ""):
        return f"({left} {'+' if plus else '-'} {right})"
    node.meta[DATED] = True
    if kinds == ("date", ""):
        return f"{'date_add' if plus else 'date_sub'}({left}, {right})"
    if kinds == ("timestamp", "interval"):
        return f"{left} {'+' if plus else '-'} {right}"
    if kinds in (("date", "date"), ("timestamp", "timestamp")) and not plus:
        return f"({left} - {right})"
    raise NoName


_MOMENTS: Final = Moments()


def _each(nodes: Sequence[exp.Expr]) -> list[str]:
    return [describe(node) for node in nodes]


# -- literals ----------------------------------------------------------------------------------------------------------


def _literal(node: exp.Expr) -> str:
    return str(node.this) if node.args.get("is_string") else number_name(node.this)


def _negative(node: exp.Expr) -> str:
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return signed_name(inner.this, "")
    return f"(- {describe(inner)})"


def _cast(node: exp.Expr) -> str:
    how, to = node.meta_get(WRITTEN), node.args["to"]
    if how in ("cast", "try_cast"):
        return f"{how.upper()}({describe(node.this)} AS {type_name(to)})"
    if how == "suffix":
        kind = to.this.name if to.this.name in ("DOUBLE", "FLOAT", "DECIMAL") else ""
        negative = isinstance(node.this, exp.Neg)
        return signed_name(node.this.this.this, kind) if negative else number_name(node.this.this, kind)
    if isinstance(node.this, exp.Literal) and node.this.is_string and ORIGINAL_NAME not in node.meta:  # not date('...')
        return moment_name(node.this.this, to.this)
    raise NoName


# Spark's fields of one unit, written with two digits but for days.
_UNITS: Final = {"DAY": 1, "HOUR": 2, "MINUTE": 2, "SECOND": 2}


def _interval(node: exp.Expr) -> str:
    value, unit = node.this, node.text("unit").upper().removesuffix("S")
    written = value.name if isinstance(value, exp.Literal) else ""
    if unit not in _UNITS or not written.isdigit() or len(written) > 8:
        raise NoName
    return f"INTERVAL '{written.lstrip('0').rjust(_UNITS[unit], '0') or '0'}' {unit}"


# -- conditions --------------------------------------------------------------------------------------------------------


def _not(node: exp.Expr) -> str:
    inner = node.this
    if isinstance(inner, exp.Is) and not isinstance(inner.expression, exp.Boolean) and node.meta_get(IS_NOT):
        return f"({describe(inner.this)} IS NOT NULL)"
    return f"(NOT {describe(inner)})"


def _is(node: exp.Expr) -> str:
    if isinstance(node.expression, exp.Boolean):
        return f"({describe(node.this)} <=> {describe(node.expression)})"
    return f"({describe(node.this)} IS NULL)"


def _between(node: exp.Expr) -> str:
    return f"between({describe(node.this)}, {describe(node.args['low'])}, {describe(node.args['high'])})"


def _in(node: exp.In) -> str:
    if list_of(node) is not None:  # very many values
        raise NoName
    listed = ["listquery()"] if node.args.get("query") is not None else _each(node.expressions)
    return f"({describe(node.this)} IN ({', '.join(listed)}))"


def _like(node: exp.Expr, escape: str = "") -> str:
    if isinstance(node.expression, (exp.Any, exp.All)):
        raise NoName
    left, pattern = describe(node.this), describe(node.expression)
    shown = f"ilike({left}, {pattern})" if isinstance(node, exp.ILike) else f"{left} LIKE {pattern}{escape}"
    if escape and isinstance(node, exp.ILike):
        raise NoName
    return f"(NOT {shown})" if node.args.get("negate") else shown


def _escape(node: exp.Expr) -> str:
    if not isinstance(node.this, exp.Like) or not isinstance(node.expression, exp.Literal):
        raise NoName
    return _like(node.this, f" ESCAPE '{node.expression.this}'")


def _case(node: exp.Expr) -> str:
    operand = None if node.this is None else describe(node.this)
    branches = []
    for each in node.args["ifs"]:
        test = describe(each.this)
        test = test if operand is None else f"({operand} = {test})"
        branches.append(f"WHEN {test} THEN {describe(each.args['true'])}")
    default = node.args.get("default")
    tail = f" ELSE {describe(default)}" if default is not None else ""
    return f"CASE {' '.join(branches)}{tail} END"


# -- calls -------------------------------------------------------------------------------------------------------------

# Functions that Spark prints in capitals.
_CAPITALS: Final = frozenset(
    {
        *("rank", "dense_rank", "percent_rank", "sqrt", "cbrt", "power", "signum", "regexp", "regexp_like", "rlike"),
        *("exp", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "log10", "log2", "degrees", "radians"),
    }
)
# Arguments that Spark shows where they are left out: how many there are, and what follows.
_DEFAULTS: Final = {
    ("lpad", 2): [" "],
    ("rpad", 2): [" "],
    ("replace", 2): [""],
    ("round", 1): ["0"],
    ("bround", 1): ["0"],
    ("lag", 1): ["1", "NULL"],
    ("lag", 2): ["NULL"],
    ("lead", 1): ["1", "NULL"],
    ("lead", 2): ["NULL"],
    ("substring", 2): ["2147483647"],
    ("substr", 2): ["2147483647"],
    ("locate", 2): ["1"],
    ("position", 2): ["1"],
    ("percentile", 2): ["1"],
    ("unix_timestamp", 1): ["yyyy-MM-dd HH:mm:ss"],
    ("to_unix_timestamp", 1): ["yyyy-MM-dd HH:mm:ss"],
}


def note_call(node: exp.Expr, name: str, arguments: Sequence[exp.Expr]) -> None:
    """Note on a call what Spark calls it, from what was written."""
    try:
        node.meta[CALL] = call_name(name.lower(), arguments)
    except (NoName, RecursionError):
        node.meta.pop(CALL, None)


def call_name(name: str, arguments: Sequence[exp.Expr]) -> str:
    if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return "count(1)"
    if name in ("listagg", "string_agg"):  # Spark shows the separator that was left out, and the order
        raise NoName
    given = [*_each(arguments), *_DEFAULTS.get((name, len(arguments)), ())]
    form = _FORMS.get(name)
    if form is not None:
        try:
            return form.format(*given)
        except IndexError:
            raise NoName from None
    if name == "mode" and given[1:] == ["true"]:
        return f"mode() WITHIN GROUP (ORDER BY {given[0]} DESC)"
    if name == "log":
        return f"LOG({', '.join(['E()', *given][-2:])})"
    if name in ("ltrim", "rtrim") and len(given) == 2:
        return f"TRIM({'LEADING' if name == 'ltrim' else 'TRAILING'} {given[0]} FROM {given[1]})"
    if name in ("ceil", "floor") and len(given) == 1:
        name = name.upper()
    if name == "dateadd" and len(given) == 2:
        name = "date_add"
    if len(given) == 3:
        name = _OF_UNITS.get(name, name)
    if name in _CASTS:  # a column under it would lend it its name
        raise NoName
    return f"{name.upper() if name in _CAPITALS else name}({', '.join(given)})"


_FORMS: Final = {
    "positive": "(+ {})",
    "isnull": "({} IS NULL)",
    "isnotnull": "({} IS NOT NULL)",
    "like": "{} LIKE {}",
    "if": "(IF({}, {}, {}))",
    "div": "({} div {})",
    "datepart": "datepart({} FROM {})",
}
_OF_UNITS: Final = {
    "datediff": "timestampdiff",
    "date_diff": "timestampdiff",
    "dateadd": "timestampadd",
    "date_add": "timestampadd",
}
_CASTS: Final = frozenset(
    {
        "bigint",
        "binary",
        "boolean",
        "date",
        "decimal",
        "double",
        "float",
        "int",
        "smallint",
        "string",
        "timestamp",
        "tinyint",
    }
)


def _operator_call(node: exp.Expr) -> str:
    """Operators that are calls in a tree; a call itself has its name noted."""
    forms = {"positive": "(+ {})", "shiftrightunsigned": "({} >>> {})"}
    form = forms.get(str(node.this).lower())
    if form is None:
        raise NoName
    return form.format(*_each(node.expressions))


def _distinct(node: exp.Expr) -> str:
    if node.args.get("on"):
        raise NoName
    return f"DISTINCT {', '.join(_each(node.expressions))}"


def _concatenated(node: exp.Expr) -> str:
    if all(isinstance(each, exp.Literal) for each in node.expressions):  # 'x' 'y', which is one text
        return "".join(_each(node.expressions))
    raise NoName


def _regexp_like(node: exp.Expr) -> str:
    return f"RLIKE({describe(node.this)}, {describe(node.expression)})"


_TRIMS: Final = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(node: exp.Expr) -> str:
    """`TRIM(BOTH x FROM s)` and its like; `ltrim(s)` is a call."""
    place = node.args.get("position") or "BOTH"
    what = node.expression
    if node.args.get("collation"):
        raise NoName
    if what is None:
        return f"{_TRIMS[place]}({describe(node.this)})"
    return f"TRIM({place} {describe(what)} FROM {describe(node.this)})"


def _substring(node: exp.Expr) -> str:
    length = node.args.get("length")
    shown = describe(length) if length is not None else "2147483647"
    return f"substring({describe(node.this)}, {describe(node.args['start'])}, {shown})"


def _position(node: exp.Expr) -> str:
    return f"locate({describe(node.args['substr'])}, {describe(node.this)}, 1)"


def _filter(node: exp.Expr) -> str:
    return f"{describe(node.this)} FILTER (WHERE {describe(node.expression.this)})"


def _extract(node: exp.Expr) -> str:
    return f"extract({node.name} FROM {describe(node.expression)})"


# -- window functions --------------------------------------------------------------------------------------------------

_WHOLE, _UPTO = "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", "UNBOUNDED PRECEDING AND CURRENT ROW"
_RANKS: Final = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.Ntile)


def _window(node: exp.Expr) -> str:
    function = node.this
    definition = _definition(node)
    nulls = isinstance(function, (exp.IgnoreNulls, exp.RespectNulls))
    function = function.this if nulls else function
    name = describe(function)
    if nulls:  # it is then another expression, which has forgotten its other name
        first, _, rest = name.partition("(")
        known = {"first_value": "first", "last_value": "last", "first": "first", "last": "last"}
        if first not in known and first not in ("lag", "lead"):
            raise NoName
        name = f"{known.get(first, first)}({rest}"
    parts = []
    if definition.args.get("partition_by"):
        parts.append(f"PARTITION BY {', '.join(_each(definition.args['partition_by']))}")
    order = definition.args.get("order")
    if order is not None:
        parts.append(f"ORDER BY {', '.join(map(_ordered, order.expressions))}")
    parts.append(_frame(function, definition, order is not None))
    return f"{name} OVER ({' '.join(parts)})"


def _definition(node: exp.Expr) -> exp.Expr:
    alias = node.args.get("alias")
    if alias is None:
        return node
    select = node.find_ancestor(exp.Select)
    windows = (select.args.get("windows") or ()) if select is not None else ()
    for each in windows:
        if each.name.lower() == alias.name.lower() and not each.args.get("alias"):
            assert isinstance(each, exp.Expr)
            return each
    raise NoName


def _ordered(node: exp.Expr) -> str:
    down = bool(node.args.get("desc"))
    nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
    return f"{describe(node.this)} {'DESC' if down else 'ASC'} NULLS {nulls}"


def _frame(function: exp.Expr, definition: exp.Expr, ordered: bool) -> str:
    if isinstance(function, (exp.Lag, exp.Lead)):
        offset = function.args.get("offset")
        if offset is not None and not (isinstance(offset, exp.Literal) and offset.name.isdigit()):
            raise NoName
        back = ("-" if isinstance(function, exp.Lag) else "") + ("1" if offset is None else str(int(offset.name)))
        return f"ROWS BETWEEN {back} FOLLOWING AND {back} FOLLOWING"
    spec = definition.args.get("spec")
    if spec is not None:
        kind = spec.text("kind").upper()
        end = _bound(spec, "end") if spec.args.get("end") is not None else "CURRENT ROW"
        return f"{kind} BETWEEN {_bound(spec, 'start')} AND {end}"
    if isinstance(function, _RANKS):
        return f"ROWS BETWEEN {_UPTO}"
    return f"RANGE BETWEEN {_UPTO}" if ordered else f"ROWS BETWEEN {_WHOLE}"


def _bound(spec: exp.Expr, which: str) -> str:
    bound, side = spec.args[which], (spec.args.get(f"{which}_side") or "").upper()
    if isinstance(bound, str):
        return f"{bound.upper()} {side}".strip()
    return f"{describe(bound)} {side}"


_RULES: Final[dict[type[exp.Expr], Callable[[Any], str]]] = {
    exp.Column: lambda node: node.name,
    exp.Identifier: lambda node: node.name,
    exp.Paren: lambda node: describe(node.this),
    exp.Literal: _literal,
    exp.RawString: lambda node: str(node.this),
    exp.Null: lambda node: "NULL",
    exp.Boolean: lambda node: "true" if node.this else "false",
    exp.Neg: _negative,
    exp.BitwiseNot: lambda node: f"~{describe(node.this)}",
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Interval: _interval,
    exp.NEQ: lambda node: f"(NOT ({describe(node.this)} = {describe(node.expression)}))",
    exp.NullSafeNEQ: lambda node: f"(NOT ({describe(node.this)} <=> {describe(node.expression)}))",
    exp.DPipe: lambda node: f"concat({describe(node.this)}, {describe(node.expression)})",
    exp.Not: _not,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _regexp_like,
    exp.Case: _case,
    exp.Anonymous: _operator_call,
    exp.Distinct: _distinct,
    exp.Concat: _concatenated,
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.StrPosition: _position,
    exp.Exists: lambda node: "exists()",
    exp.Filter: _filter,
    exp.Extract: _extract,
    exp.Window: _window,
    exp.Subquery: lambda node: "scalarsubquery()",
}
