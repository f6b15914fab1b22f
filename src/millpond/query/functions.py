"""A user's functions in Python: found, compared with their declaration, and called by DuckDB.

DuckDB calls Python for scalar functions over Arrow arrays only, so every kind of function is said as one:

    scalar      columns                        -> a column
    aggregate   columns of lists, one a group  -> a column
    table       columns (of one row)           -> a column of lists of rows, which the query unnests

Plain functions get and return Python values, row by row; those marked `vectorized` Arrow arrays.

Invariant. Whatever goes wrong in a user's function becomes a `FunctionError` that names the function and what it was
called with. DuckDB lets only text through, so the error crosses it as text behind a mark, and `failure_in` makes it
whole again, in whatever thread and connection it comes out.
"""

from __future__ import annotations

import importlib
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from millpond.arrow import arrow_type, to_batch
from millpond.catalog import Function
from millpond.errors import CatalogError, FunctionError, MillpondError, counted
from millpond.result import Result
from millpond.schema import DataType
from millpond.sql.rules.terms import duck, quoted

Body = Callable[..., Any]
F = TypeVar("F", bound=Body)

_MARK = "[millpond: function failed] "
_VECTORIZED = "__millpond_vectorized__"
_WIDEST = 200
_NAIVE = pa.timestamp("us")  # as DuckDB has a TIMESTAMP; it is UTC
_REFUSALS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, TypeError, ArithmeticError)


def vectorized(function: F) -> F:
    """Mark a function that takes Arrow arrays, one for each argument.

    A scalar function returns an array with a value for each row; an aggregate gets the values of a group and returns one
    plain value.

    >>> import pyarrow.compute as pc
    >>> @vectorized
    ... def double(x):
    ...     return pc.multiply(x, 2)
    """
    setattr(function, _VECTORIZED, True)
    return function


class Reader:
    """The pond as a table function sees it: it can be queried and not changed.

    A table function whose first parameter is annotated with this class gets one before its arguments.

    >>> def busy(pond: Reader, least: int):
    ...     return pond.sql(f"SELECT page, COUNT(*) FROM clicks GROUP BY page HAVING COUNT(*) >= {least:d}").rows()
    """

    def __init__(self, ask: Callable[[str], Result]) -> None:
        self._ask = ask

    def sql(self, query: str) -> Result:
        """Run a SELECT over the pond as it is now."""
        return self._ask(query)


# -- finding and checking ---------------------------------------------------------------------------------------------


def load(function: Function) -> Body:
    """What a definition calls; raises if it is not there (any more)."""
    if function.body is not None:
        return function.body
    assert function.python is not None
    return find(function.python, function.name)


def find(python: str, name: str) -> Body:
    """The callable called 'module:name'."""
    module, _, inner = python.partition(":")
    if not module or not inner:
        raise CatalogError(
            f'function "{name}" is to be found at "{python}", which is not a place',
            hint="Write AS PYTHON '<module>:<name>', such as 'linear_road.functions:trajectory'.",
        )
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # a module may fail in any way while it is imported
        raise CatalogError(
            f'function "{name}": module "{module}" cannot be imported',
            detail=f"{type(error).__name__}: {error}.",
            hint="The folder it is in must be in PYTHONPATH, or the module installed.",
        ) from error
    for part in inner.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        what = "has no" if found is None else "has something else than a function called"
        raise CatalogError(f'function "{name}": module "{module}" {what} "{inner}"')
    body: Body = found
    return body


def place_of(body: Body) -> str | None:
    """'module:name' if that leads to the callable in any process, else None: a lambda, a local function, a script's."""
    module, name = getattr(body, "__module__", None), getattr(body, "__qualname__", None)
    if not module or not name or module == "__main__":
        return None
    try:
        return f"{module}:{name}" if find(f"{module}:{name}", name) is body else None
    except CatalogError:
        return None


def wants_reader(body: Body) -> bool:
    """Whether the first parameter is annotated as a `Reader`."""
    try:
        first = next(iter(inspect.signature(body).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    if first is None or first.annotation in (Reader, "Reader", "millpond.Reader"):
        return first is not None
    try:
        return typing.get_type_hints(body).get(first.name) is Reader
    except (TypeError, NameError):  # names that are there for type checkers only
        return False


def check(function: Function, body: Body) -> None:
    """Refuse what cannot work, when it is declared."""
    count = len(function.arguments)
    if wants_reader(body):
        if function.kind != "table":
            raise CatalogError(
                f'function "{function.name}" asks for the pond', detail="Only a table function can read it."
            )
        count += 1
    if function.kind == "aggregate" and not count:
        raise CatalogError(f'aggregate "{function.name}" has no arguments', hint="It is called with lists of values.")
    if _is_vectorized(body) and (function.kind == "table" or not count):
        raise CatalogError(
            f'function "{function.name}" cannot be vectorized',
            detail="A table function takes plain values, and one without arguments nothing at all.",
        )
    try:
        signature = inspect.signature(body)
    except (TypeError, ValueError):  # one written in C may not tell
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        declared = ", ".join(f"{a.name} {a.type}" for a in function.arguments)
        raise CatalogError(
            f'function "{function.name}" is declared with {_arguments(len(function.arguments))}, but is not called so',
            detail=f"Declared is ({declared}), in Python it is {signature}.",
        ) from error


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _is_vectorized(body: Body) -> bool:
    return bool(getattr(body, _VECTORIZED, False))


# -- in the engine ----------------------------------------------------------------------------------------------------


def register(
    connection: duckdb.DuckDBPyConnection, functions: Iterable[Function], known: set[str], reader: Reader | None = None
) -> None:
    """Make functions known to a connection and its cursors; `known` are those that are, and grows."""
    for function in functions:
        name = function.engine_name
        if name in known:
            continue
        kinds: list[Any] = [duck(a.type) for a in function.arguments] or ["BOOLEAN"]
        if function.kind == "aggregate":
            kinds = [f"{kind}[]" for kind in kinds]
        returns = duck(function.returns.columns[0].type)
        if function.kind == "table":
            returns = f"STRUCT({', '.join(f'{quoted(c.name)} {duck(c.type)}' for c in function.returns)})[]"
        body = _columns_wise(function, load(function), reader)
        # DuckDB counts the parameters of what it is given.
        places = [inspect.Parameter(f"x{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(len(kinds))]
        body.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]
        connection.create_function(
            name,
            body,
            kinds,
            returns,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
            # DuckDB would run a table function while it plans, and carry its rows about as constants.
            side_effects=function.kind == "table",
        )
        known.add(name)


def _columns_wise(function: Function, body: Body, reader: Reader | None) -> Callable[..., pa.Array]:
    """The function as DuckDB calls it."""
    if function.kind == "table":
        return _table(function, body, reader)
    kind = function.returns.columns[0].type
    lists = function.kind == "aggregate"
    by_row = _by_group if lists else _by_column if _is_vectorized(body) else _by_row

    def columns_wise(*columns: pa.ChunkedArray) -> pa.Array:
        given = [_from_engine(c, a.type, lists) for c, a in zip(columns, function.arguments, strict=False)]
        return _to_engine(by_row(function, body, given, len(columns[0])), kind)

    return columns_wise


def _by_row(function: Function, body: Body, given: list[pa.Array], count: int) -> pa.Array:
    rows = zip(*(c.to_pylist() for c in given), strict=True) if given else iter([()] * count)
    values: list[Any] = []
    called = []
    for row in rows:
        if not function.nulls and None in row:
            values.append(None)
        else:
            values.append(_called(function, body, row, row))
        called.append(row)
    return _as_declared(function, values, called)


def _by_column(function: Function, body: Body, given: list[pa.Array], count: int) -> pa.Array:
    kind = arrow_type(function.returns.columns[0].type)
    full = None
    if not function.nulls and any(c.null_count for c in given):
        full = given[0].is_valid()
        for column in given[1:]:
            full = pc.and_(full, column.is_valid())
        given = [c.filter(full) for c in given]
    found = _called(function, body, given, given)
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if not isinstance(found, pa.Array) or len(found) != len(given[0]):
        what = counted(len(found), "value") if isinstance(found, pa.Array) else type(found).__name__
        rows = counted(len(given[0]), "row")
        raise _Failed(function, given, f"It gave {what} for {rows}; it must give an Arrow array as long.")
    try:
        found = found.cast(kind)
    except _REFUSALS as error:
        raise _Failed(
            function, given, f"It gave {found.type}, not {function.returns.columns[0].type}: {error}"
        ) from error
    if full is None:
        return found
    places = pc.subtract(pc.cumulative_sum(full.cast(pa.int64())), 1)
    return found.take(pc.if_else(full, places, pa.scalar(None, pa.int64())))


def _by_group(function: Function, body: Body, given: list[pa.Array], count: int) -> pa.Array:
    """Each row holds the lists of one group; NULL stands for an empty one."""
    arrays = _is_vectorized(body)
    values: list[Any] = []
    called = []
    for place in range(count):
        group: list[Any]
        if arrays:
            group = [c[place].values if c[place].is_valid else pa.array([], c.type.value_type) for c in given]
        else:
            group = [c[place].as_py() or [] for c in given]
        empty = not len(group[0])
        values.append(None if empty and not function.nulls else _called(function, body, group, group))
        called.append(group)
    return _as_declared(function, values, called)


def _table(function: Function, body: Body, reader: Reader | None) -> Callable[..., pa.Array]:
    reads = wants_reader(body)

    def columns_wise(*columns: pa.ChunkedArray) -> pa.Array:
        given = [_from_engine(c, a.type, False) for c, a in zip(columns, function.arguments, strict=False)]
        rows = zip(*(c.to_pylist() for c in given), strict=True) if given else iter([()] * len(columns[0]))
        found: list[pa.Array] = []
        ends = [0]
        for row in rows:
            if function.nulls or None not in row:
                found.append(_rows(function, body, (reader, *row) if reads else row, row))
            ends.append(ends[-1] + (len(found[-1]) if function.nulls or None not in row else 0))
        kind = pa.struct([(c.name, _engine_type(c.type)) for c in function.returns])
        rows_of_all = pa.concat_arrays(found) if found else pa.array([], kind)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows_of_all)

    return columns_wise


def _rows(function: Function, body: Body, given: Sequence[Any], shown: Sequence[Any]) -> pa.Array:
    """What one call of a table function gives, as an array of rows."""
    found = _called(function, _listed(body), given, shown)
    try:
        offer = to_batch(found, function.returns, function.name)
    except MillpondError as error:
        raise _Failed(function, shown, str(error)) from error
    if offer.bad:
        first = offer.bad[0]
        raise _Failed(function, shown, f"Row {first.index} it gave is not as declared: {first.reason}.")
    columns = [_to_engine(c, d.type) for c, d in zip(offer.batch.columns, function.returns, strict=True)]
    fields = [pa.field(d.name, _engine_type(d.type)) for d in function.returns]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _listed(body: Body) -> Body:
    """A generator runs when its rows are taken: take them where its errors are expected."""

    def run(*given: Any) -> Any:
        found = body(*given)
        return list(found) if inspect.isgenerator(found) else found

    return run


# -- values -----------------------------------------------------------------------------------------------------------


def _engine_type(kind: DataType) -> pa.DataType:
    return _NAIVE if kind.name == "TIMESTAMP" else arrow_type(kind)


def _from_engine(column: pa.ChunkedArray, kind: DataType, lists: bool) -> pa.Array:
    wanted = pa.list_(arrow_type(kind)) if lists else arrow_type(kind)
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array if array.type == wanted else array.cast(wanted)


def _to_engine(array: pa.Array, kind: DataType) -> pa.Array:
    return array.cast(_NAIVE) if kind.name == "TIMESTAMP" else array


def _as_declared(function: Function, values: list[Any], called: list[Any]) -> pa.Array:
    declared = function.returns.columns[0].type
    kind = arrow_type(declared)
    try:
        return pa.array(values, kind)
    except _REFUSALS:
        for value, given in zip(values, called, strict=True):
            try:
                pa.array([value], kind)
            except _REFUSALS as error:
                raise _Failed(function, given, f"It gave {_shown(value)}, which is not {declared}.") from error
        raise


def _shown(value: Any) -> str:
    text = repr(value.to_pylist()) if isinstance(value, pa.Array) else repr(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


# -- errors -----------------------------------------------------------------------------------------------------------


class _Failed(Exception):
    """On its way through DuckDB, which keeps the text."""

    def __init__(self, function: Function, given: Sequence[Any], detail: str) -> None:
        shown = ", ".join(_shown(v) for v in given)
        shown = shown if len(shown) <= _WIDEST else shown[: _WIDEST - 3] + "..."
        super().__init__(_MARK + json.dumps([f'function "{function.name}" failed for ({shown})', detail]))


def _called(function: Function, body: Body, given: Sequence[Any], shown: Sequence[Any]) -> Any:
    try:
        return body(*given)
    except Exception as error:
        raise _Failed(function, shown, _told(error)) from error


def _told(error: Exception) -> str:
    """The error in a line, and where in the user's code it was raised."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename == __file__:
        return f"{text}."
    code = trace.tb_frame.f_code
    return f"{text} ({code.co_filename}, line {trace.tb_lineno}, in {code.co_name})."


def failure_in(error: BaseException) -> FunctionError | None:
    """The failure of a user's function that an engine's error tells of."""
    _, mark, rest = str(error).partition(_MARK)
    if not mark:
        return None
    primary, detail = json.JSONDecoder().raw_decode(rest)[0]
    return FunctionError(primary, detail=detail)
