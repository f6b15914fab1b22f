"""What every rule speaks in: typed values, relations, scopes, and the refusal.

A rule turns one Spark expression into DuckDB text. The invariant that all rules keep:

    `Value.sql`, run on a connection set up by `configure`, has exactly the DuckDB type that stands for `Value.type`
    (a Spark type), and gives for every row the value Spark 4.3 in ANSI mode gives, or raises where Spark raises.

A rule that cannot keep it raises `NotOnDuckDB`. Where it depends on the data (upper-casing `ß`, casting `' 7'` to INT),
the text itself raises `only_spark(...)` at run time for such a value; `needs_spark` recognises that error.

Types are worked out here, bottom-up, and not taken from sqlglot's annotations: those are right for columns of base
tables (they come from the schema), but not for decimals and not for everything that is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from millpond.catalog import Function
from millpond.schema import DataType
from millpond.sql.sizes import too_long

TINYINT: Final = DataType("TINYINT")
SMALLINT: Final = DataType("SMALLINT")
INT: Final = DataType("INT")
BIGINT: Final = DataType("BIGINT")
BOOLEAN: Final = DataType("BOOLEAN")
FLOAT: Final = DataType("FLOAT")
DOUBLE: Final = DataType("DOUBLE")
STRING: Final = DataType("STRING")
BINARY: Final = DataType("BINARY")
DATE: Final = DataType("DATE")
TIMESTAMP: Final = DataType("TIMESTAMP")
VOID: Final = DataType("VOID")  # the type of a bare NULL; never the type of an output column


@dataclass(frozen=True)
class ArrayType(DataType):
    """An array, inside a query: no column of a table or a result is one."""

    element: DataType = VOID

    @classmethod
    def of(cls, element: DataType) -> ArrayType:
        return cls("ARRAY", element=element)

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


# Spark's TIMESTAMP is an instant; with both session time zones at UTC, DuckDB's plain TIMESTAMP holds the same numbers
# and needs no ICU. A TIMESTAMPTZ column gives the same rows, only slower.
_DUCK_NAMES: Final = {"INT": "INTEGER", "STRING": "VARCHAR", "BINARY": "BLOB"}

_FROM_SQLGLOT: Final = {
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,  # not VARCHAR(n), which has a length to keep
    exp.DType.BINARY: BINARY,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,  # how sqlglot reads Spark's TIMESTAMP
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
}

_MARK: Final = "[millpond: only Spark]"


class NotOnDuckDB(Exception):
    """A query, or a part of it, that is not proved to give on DuckDB what it gives on Spark."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_LEFT_TO_SPARK: Final = "left_to_spark"  # in the meta of a node: why it is


def leave_to_spark(node: exp.Expr, reason: str) -> None:
    """Note on a query that its resolved tree will not say what it says as written."""
    node.meta[_LEFT_TO_SPARK] = reason


def check_left(node: exp.Expr) -> None:
    reason = node.meta_get(_LEFT_TO_SPARK)
    if reason is not None:
        raise NotOnDuckDB(str(reason))


class _NotConstant:
    """The mark of a value that is not known while translating (None is a known value: NULL)."""


NOT_CONSTANT: Final = _NotConstant()


INSTANT: Final = "\0"
"""Where the instant goes in a text for DuckDB. Nothing else puts a NUL there: `text` and `quoted` refuse it, and both engines
refuse it anywhere else. So the text is made once, and `at_instant` cannot meet a user's number or text."""


class Value:
    """A translated scalar expression. `raises`: it can fail on some row, so it must stay behind its guards."""

    __slots__ = ("constant", "raises", "sql", "type")

    def __init__(self, sql: str, type: DataType, raises: bool = False, constant: object = NOT_CONSTANT) -> None:
        self.sql = sql
        self.type = type
        self.raises = raises
        self.constant = constant

    @property
    def is_constant(self) -> bool:
        return self.constant is not NOT_CONSTANT


class Relation:
    """A translated query: its text and its output columns in order. `simple` says it is one plain SELECT."""

    __slots__ = ("columns", "simple", "sql")

    def __init__(self, sql: str, columns: list[tuple[str, DataType]], simple: bool = False) -> None:
        self.sql = sql
        self.columns = columns
        self.simple = simple


# The columns of a derived table by lower-case name; None for a base table, whose columns carry the schema's type.
Columns = Mapping[str, DataType] | None


class Scope:
    """The names one SELECT can see. `clause` says which part is being translated: only WHERE may look into `outer`."""

    __slots__ = (
        "aliases", "clause", "correlated", "ctes", "group_keys", "grouping_sets", "outer", "sources", "windows",
    )  # fmt: skip

    def __init__(self, ctes: dict[str, Columns], outer: Scope | None) -> None:
        self.sources: dict[str, Columns] = {}
        self.ctes = ctes
        self.outer = outer
        self.aliases: dict[str, Value] = {}
        self.clause = "from"
        self.correlated: list[exp.Column] = []
        self.group_keys: tuple[str, ...] | None = None
        self.grouping_sets = False
        self.windows: dict[str, exp.Expression] = {}


Rule = Callable[[Any, "Translator"], Value]
RelationRule = Callable[[Any, "Translator"], Relation]


_BETWEEN_CHECKS: Final = 256  # nodes, some milliseconds


class Translator:
    """One translation. The tables of rules are the whitelist: a class of node that is in none of them is refused.

    `user` are the user's functions that the query calls, by lower-case name.
    """

    def __init__(
        self,
        values: Mapping[type[exp.Expression], Rule],
        functions: Mapping[str, Rule],
        relations: Mapping[Any, RelationRule],
        user: Mapping[str, Function] | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._values = values
        self._functions = functions
        self._relations = relations
        self.user = user or {}
        self._check = check  # called now and then; raises to end the translation
        self._until_check = _BETWEEN_CHECKS
        self.scope = Scope({}, None)

    def value(self, node: exp.Expression) -> Value:
        self._until_check -= 1
        if not self._until_check:
            self._until_check = _BETWEEN_CHECKS
            self._check()
        rule = self._values.get(node.__class__)
        if rule is None:
            if node.__class__ is exp.Anonymous:
                rule = self._functions.get(node.name.lower())
            if rule is None:
                raise NotOnDuckDB(unproved(node))
        return rule(node, self)

    def relation(self, node: exp.Expr) -> Relation:
        rule = self._relations.get(node.__class__)
        if rule is None:
            raise NotOnDuckDB(unproved(node))
        return rule(node, self)

    def values(self, nodes: Iterable[exp.Expression]) -> list[Value]:
        return [self.value(node) for node in nodes]


# What the user wrote, where sqlglot's own name for it is another.
_WRITTEN: Final = {
    "time_to_str": "date_format",
    "regexp_split": "split",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "approx_distinct": "approx_count_distinct",
    "array_unique_agg": "collect_set",
    "array_agg": "collect_list",
}


def unproved(node: exp.Expr) -> str:
    """The reason for a refusal, naming the construct in the user's words."""
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        return f"function {node.name.lower()} is only supported on Spark"
    if isinstance(node, exp.Func):
        name = node.sql_name().lower()
        return f"function {_WRITTEN.get(name, name)} is only supported on Spark"
    return f"{node.key} is only supported on Spark"


def only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node with any argument outside `allowed`: an unknown option must not be dropped in silence."""
    for key, arg in node.args.items():
        if arg and key not in allowed:
            raise NotOnDuckDB(f"{key.rstrip('_')} in {node.key} is only supported on Spark")


def type_of(data_type: exp.DataType | exp.DType | None) -> DataType:
    """The Spark type behind a sqlglot type."""
    kind = data_type.this if isinstance(data_type, exp.DataType) else data_type
    found = _FROM_SQLGLOT.get(kind) if kind is not None else None
    if found is not None:
        return found
    if kind == exp.DType.DECIMAL and isinstance(data_type, exp.DataType):
        params = [int(param.name) for param in data_type.expressions]
        precision, scale = (params + [10, 0][len(params) :])[:2]
        return DataType("DECIMAL", precision, scale)
    if kind is None or kind in (exp.DType.UNKNOWN, exp.DType.NULL):
        raise NotOnDuckDB("a column has no known type")
    raise NotOnDuckDB(f"type {data_type} is only supported on Spark")


def duck(type: DataType) -> str:
    """The DuckDB type that stands for a Spark type."""
    if isinstance(type, ArrayType):
        return f"{duck(type.element)}[]"
    return _DUCK_NAMES.get(type.name) or str(type)


def quoted(name: str) -> str:
    if not name:
        raise NotOnDuckDB("an empty name is only supported on Spark")
    if "\0" in name:
        raise NotOnDuckDB("a name with a NUL character is only supported on Spark")
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A DuckDB string literal. DuckDB reads no escapes in it, so only the quote needs care."""
    if "\0" in value:
        raise NotOnDuckDB("a text with a NUL character is only supported on Spark")
    return "'" + value.replace("'", "''") + "'"


def only_spark(reason: str) -> str:
    """DuckDB text that raises when evaluated, saying that Spark must decide about this value."""
    return f"error({text(f'{_MARK} {reason}')})"


_TOO_LONG: Final = "[millpond: too long]"


def error_too_long(function: str) -> str:
    """DuckDB text that raises when evaluated, saying that a function would make too long a text."""
    return f"error({text(f'{_TOO_LONG} {too_long(function)}')})"


def too_long_text(message: str) -> str | None:
    """What `error_too_long` says, if it is what a DuckDB error is about."""
    _, mark, rest = message.partition(_TOO_LONG)
    return rest.strip().splitlines()[0] if mark else None


def needs_spark(error: BaseException) -> bool:
    """Whether a DuckDB error says that the data need Spark (the query is right, only not proved for such values)."""
    return _MARK in str(error)
