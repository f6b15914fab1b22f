"""Columns, their types and a table's time column: the one description of a table's shape, free of any engine.

Type names are Spark SQL's. `DataType` is a name plus, for DECIMAL, precision and scale. Engines map it in one place
each: `arrow.py` for Arrow and DuckDB, `query/on_spark.py` for Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from millpond.errors import CatalogError, UnknownName

BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}  # of whole numbers
INTEGERS = tuple(BITS)
TYPE_NAMES = (*INTEGERS, "BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "BINARY", "DATE", "TIMESTAMP")
ALIASES = {
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "REAL": "FLOAT",
    "DOUBLE PRECISION": "DOUBLE",
    "TEXT": "STRING",
    "VARCHAR": "STRING",
    "CHAR": "STRING",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
    "BOOL": "BOOLEAN",
}
# Names that start with an underscore belong to millpond: `_seq` numbers the rows of a table in order of arrival.
SEQ = "_seq"
ARRIVAL = "arrival"


@dataclass(frozen=True)
class DataType:
    name: str
    precision: int = 0
    scale: int = 0

    @classmethod
    def parse(cls, text: str) -> DataType:
        """Read a type as written in SQL.

        >>> DataType.parse("decimal(10, 2)")
        DataType(name='DECIMAL', precision=10, scale=2)
        """
        match = re.fullmatch(r"\s*([A-Za-z ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*", text)
        name = match.group(1).upper() if match else text.upper()
        name = ALIASES.get(name, name)
        if match is None or name not in TYPE_NAMES:
            raise UnknownName("type", text.strip(), [*TYPE_NAMES, *ALIASES])
        if name != "DECIMAL":
            return cls(name)
        precision = int(match.group(2) or 10)
        scale = int(match.group(3) or 0)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise CatalogError(f"type DECIMAL({precision},{scale}) is out of range", hint="Use DECIMAL(1..38, 0..p).")
        return cls(name, precision, scale)

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})" if self.name == "DECIMAL" else self.name

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS

    @property
    def largest(self) -> int:
        """The largest value of a type of whole numbers; the smallest is one further from 0."""
        return (1 << (BITS[self.name] - 1)) - 1


@dataclass(frozen=True)
class Column:
    name: str
    type: DataType


@dataclass(frozen=True)
class Schema:
    """An ordered set of columns; names are unique regardless of case and looked up regardless of case."""

    columns: tuple[Column, ...]
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        by_name = {}
        for column in self.columns:
            key = column.name.lower()
            if key in by_name:
                raise CatalogError(f'column "{column.name}" is named twice')
            by_name[key] = column
        object.__setattr__(self, "_by_name", by_name)

    @classmethod
    def of(cls, columns: Iterable[tuple[str, str]]) -> Schema:
        return cls(tuple(Column(name, DataType.parse(kind)) for name, kind in columns))

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name

    @property
    def names(self) -> list[str]:
        return [c.name for c in self.columns]

    def find(self, name: str, table: str) -> Column:
        column = self._by_name.get(name.lower())
        if column is None:
            raise UnknownName("column", name, self.names, where=f' in table "{table}"')
        return column

    def plus(self, *columns: Column) -> Schema:
        return Schema((*self.columns, *columns))

    def without(self, *names: str) -> Schema:
        gone = {n.lower() for n in names}
        return Schema(tuple(c for c in self.columns if c.name.lower() not in gone))


def with_seq(schema: Schema) -> Schema:
    """The columns of a relation as it is stored: with the numbers of its rows."""
    return schema.plus(Column(SEQ, DataType("BIGINT")))
