"""One-time queries in the driver: DuckDB over the selected Parquet files and the tail's Arrow blocks.

The connection lives as long as the pond, so that DuckDB keeps Parquet footers in memory. Each query has a cursor of its
own: registered tails and settings of one query are invisible to others, and queries may run from several threads.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from millpond.arrow import arrow_schema, conform
from millpond.catalog import Function
from millpond.errors import CorruptBlock, EngineError, MillpondError
from millpond.process import ProcessBound
from millpond.query.binding.uses import Use
from millpond.query.deadline import Deadline
from millpond.query.functions import Reader, failure_in, register
from millpond.query.instant import at_instant
from millpond.query.interrupt import interruptible
from millpond.query.limits import collect, halve_threads, limit_error, limit_memory, query_memory
from millpond.query.plan import Fetched, Plan, Tiers, used_columns
from millpond.query.relation import DUCKDB, FILE, as_now, piece_groups, through_window, united
from millpond.query.yielding import yielding
from millpond.schema import SEQ, DataType, Schema, with_seq
from millpond.sql.translate import NotOnDuckDB, configure, needs_spark
from millpond.table.block import GROUP_ROWS, file_crc
from millpond.table.manifest import ArchiveFile
from millpond.table.store import tail_table
from millpond.table.thinning import Piece, Step

_MOST_CHECKED = 100_000
# What DuckDB says to a text that is wrong, whatever the rows are: the fault is the translation's, and Spark may know the answer.
_MISUNDERSTOOD = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.NotImplementedException,
)
_TOO_DEEP = "Max expression depth limit"
_FEW_GROUPS = 0.5  # below this share of a file's row groups, read just those


@dataclass(frozen=True)
class Answer:
    """Rows, and with profiling how much was really read."""

    rows: pa.Table
    bytes_read: int | None = None


def confine(connection: duckdb.DuckDBPyConnection, folder: Path | None = None) -> None:
    """Keep an engine from files outside a folder, from the network and from extensions. It cannot be taken back."""
    folders = _list([str(folder)]) if folder is not None else "[]"
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        f"allowed_directories = {folders}",
        "enable_external_access = false",
    ):
        connection.execute(f"SET GLOBAL {setting}").fetchall()


def _at_once(work: Callable[[], Any]) -> Any:
    return work()


class Local(ProcessBound):
    """The embedded DuckDB of a pond. Safe to use from several threads."""

    def __init__(self, folder: Path | None = None, *, memory: int = 0, beside: Local | None = None) -> None:
        """`folder` is the pond's: no other files can be read. `memory` is the setting query_memory. One that is
        `beside` that of the questions yields to ticks, and leaves them half of the cores."""
        self._apart: Callable[[Callable[[], Any]], Any] = yielding if beside is not None else _at_once
        self._connection: duckdb.DuckDBPyConnection = self._apart(lambda: duckdb.connect(":memory:"))
        configure(self._connection)
        self.memory = query_memory(memory)
        limit_memory(self._connection, self.memory)
        if beside is not None:
            self._apart(lambda: halve_threads(self._connection))  # they are started anew
        confine(self._connection, folder)
        self._connection.execute("SET GLOBAL parquet_metadata_cache = true").fetchall()
        # A variable of the caller's must never be taken for a table.
        self._connection.execute("SET GLOBAL python_enable_replacements = false").fetchall()
        self._lock = threading.Lock()
        self._checked: set[Path] = set() if beside is None else beside._checked
        self._functions: set[str] = set()
        self.reader: Reader | None = (
            None if beside is None else beside.reader
        )  # what a table function that asks for the pond gets
        # DuckDB complains at the end of the process about functions in a connection that was not closed.
        self._at_end = weakref.finalize(self, self._connection.close)

    def close(self) -> None:
        self._connection.close()

    def _leave_to_parent(self) -> None:
        self._at_end.detach()

    def run(
        self, plan: Plan, *, profile: bool = False, deadline: Deadline | None = None, most: int | None = None
    ) -> Answer:
        """Answer a planned query. `deadline` can end it; a result of more than `most` bytes is an error."""
        cursor = self._cursor(plan.bound.functions)
        found: Answer = interruptible(
            lambda: self._apart(lambda: self._run(cursor, plan, profile, deadline, most)), cursor.interrupt
        )
        return found

    def _run(
        self,
        cursor: duckdb.DuckDBPyConnection,
        plan: Plan,
        profile: bool,
        deadline: Deadline | None,
        most: int | None,
    ) -> Answer:
        assert plan.text is not None
        with closing(cursor):
            parts = []
            for name, use in plan.bound.uses.items():
                parts.append(f"{name} AS NOT MATERIALIZED ({self._relation(cursor, plan, use)})")
            text = with_relations(parts, at_instant(plan.text, plan.instant))
            return self._execute(cursor, text, profile, deadline, most)

    def _cursor(self, functions: Mapping[str, Function]) -> duckdb.DuckDBPyConnection:
        with self._lock:
            register(self._connection, functions.values(), self._functions, self.reader)
            return self._connection.cursor()

    def run_over(
        self,
        text: str,
        tables: dict[str, pa.Table],
        functions: Mapping[str, Function],
        deadline: Deadline | None = None,
    ) -> pa.Table:
        """Run DuckDB SQL over Arrow tables. `deadline` can end it."""
        cursor = self._cursor(functions)

        def run() -> pa.Table:
            with closing(cursor):
                for name, rows in tables.items():
                    cursor.register(name, rows)
                return self._execute(cursor, text, False, deadline).rows

        return interruptible(run, cursor.interrupt)

    def _execute(
        self,
        cursor: duckdb.DuckDBPyConnection,
        text: str,
        profile: bool,
        deadline: Deadline | None,
        most: int | None = None,
    ) -> Answer:
        guard = deadline.guard(cursor) if deadline is not None else nullcontext()
        try:
            with guard:
                if not profile:
                    relation = cursor.sql(text)
                    return Answer(relation.to_arrow_table() if most is None else collect(relation, most))
                for setting in ("SET enable_profiling = 'no_output'", "SET profiling_mode = 'detailed'"):
                    cursor.execute(setting).fetchall()
                rows = cursor.sql(text).to_arrow_table()
                return Answer(rows, _really_read(cursor))
        except (duckdb.Error, OSError) as error:  # Arrow raises the second for what went wrong after the first rows
            limit = limit_error(error, self.memory)
            if limit is not None:
                raise limit from error
            if _TOO_DEEP in str(error):  # its hint is of a setting that nobody here can change
                raise NotOnDuckDB("it is nested more deeply, or joins more, than DuckDB can take") from error
            if isinstance(error, _MISUNDERSTOOD):
                told = str(error).splitlines()[0].removeprefix("Binder Error: ").rstrip(".")
                raise NotOnDuckDB(f"DuckDB does not understand it: {told}") from error
            if needs_spark(error):
                raise NotOnDuckDB(
                    str(error).splitlines()[0].partition("] ")[2] + " is only supported on Spark"
                ) from error
            raise translate_error(error) from error

    def _thinned(self, cursor: duckdb.DuckDBPyConnection, given: Tiers, step: Step, use: Use) -> str:
        """The rows of a step of a reduced reading, with the number of their stratum in a column `FILE`: see `file_numbers`."""
        columns = with_seq(use.columns)
        parts = []
        number = 0
        for (have, below), pieces in piece_groups(step).items():
            for piece in pieces:
                self._check(given.snapshot.folder / piece.path, piece)
            paths = _list([str(given.snapshot.folder / p.path) for p in pieces])
            where = f" WHERE {step.draws.sql(SEQ)} < {below}" if below is not None else ""
            items = f"{as_now(columns, have, DUCKDB, _duckdb_type)}, CAST(file_index AS BIGINT) + {number} AS {FILE}"
            parts.append(f"SELECT {items} FROM read_parquet({paths}, hive_partitioning=false){where}")
            number += len(pieces)
        if step.blocks or not parts:
            cursor.register(f"{use.name}_tail", tail_table(step.blocks, arrow_schema(columns)))
            parts.append(f"SELECT *, -1 AS {FILE} FROM {use.name}_tail")
        return through_window(use, united(parts), given.now, DUCKDB, given.snapshot.since, given.upto, given.below)

    def _check(self, path: Path, file: ArchiveFile | Piece) -> None:
        """Compare a file with its checksum when this process first reads it: DuckDB does not check pages itself."""
        if path in self._checked or file.crc is None:
            return
        try:
            found = file_crc(path)
        except OSError as error:
            raise damaged(path, error) from error
        if found != file.crc:
            raise damaged(path, ValueError("Its checksum does not match its contents."))
        if len(self._checked) > _MOST_CHECKED:
            self._checked.clear()
        self._checked.add(path)

    # -- relations --------------------------------------------------------------------------------------------------

    def _relation(self, cursor: duckdb.DuckDBPyConnection, plan: Plan, use: Use) -> str:
        given = plan.inputs[use.name]
        if isinstance(given, Fetched):
            cursor.register(f"{use.name}_fetched", given.rows)
            return f"SELECT * FROM {use.name}_fetched"
        columns = with_seq(use.columns)
        parts = []
        if given.step is not None:
            return self._thinned(cursor, given, given.step, use)
        for file in given.selection.files:
            self._check(given.snapshot.folder / file.path, file)
        wanted = plan.bounds[use.name].among
        partly = [f for f in given.selection.files if _only_some_groups(f, given, wanted)]
        whole = [f for f in given.selection.files if f not in partly]
        for have in dict.fromkeys(f.columns for f in whole):
            paths = [str(given.snapshot.folder / f.path) for f in whole if f.columns == have]
            items = as_now(columns, have, DUCKDB, _duckdb_type)
            parts.append(f"SELECT {items} FROM read_parquet({_list(paths)}, hive_partitioning=false)")
        if partly:
            rows = _read_groups(partly, given, columns, used_columns(plan.bound, use), use)
            cursor.register(f"{use.name}_groups", rows)
            parts.append(f"SELECT * FROM {use.name}_groups")
        if given.selection.blocks or not parts:
            tail = tail_table(given.selection.blocks, arrow_schema(columns))
            cursor.register(f"{use.name}_tail", tail)
            parts.append(f"SELECT * FROM {use.name}_tail")
        return through_window(use, united(parts), given.now, DUCKDB, given.snapshot.since, given.upto, given.below)


def with_relations(parts: list[str], text: str) -> str:
    """`text` with the relations in front of it; a WITH it already has is continued."""
    if not parts:
        return text
    head = text.lstrip()
    if head[:5].upper() == "WITH ":
        rest = head[5:].lstrip()
        recursive = rest[:10].upper() == "RECURSIVE "
        return f"WITH {'RECURSIVE ' if recursive else ''}{', '.join(parts)}, {rest[10:] if recursive else rest}"
    return f"WITH {', '.join(parts)} {text}"


def _only_some_groups(file: ArchiveFile, given: Tiers, among: Mapping[str, frozenset[Any]]) -> bool:
    """Whether an index on a column the file is not sorted by leaves only few row groups to read.

    For the sorting column DuckDB finds them itself from the footer.
    """
    if any(column in among for column in file.clustered):
        return False
    groups = given.selection.groups.get(file.path)
    total = -(-file.rows // GROUP_ROWS)
    return groups is not None and total > 1 and len(groups) <= total * _FEW_GROUPS


def _read_groups(files: list[ArchiveFile], given: Tiers, columns: Schema, used: list[str], use: Use) -> pa.Table:
    extra = [c for c in (use.time_column, SEQ, *(use.window.columns if use.window else ())) if c]
    wanted = Schema(tuple(c for c in columns if c.name in {*used, *extra}))
    batches = []
    for file in files:
        path = given.snapshot.folder / file.path
        try:
            with pq.ParquetFile(path) as parquet:
                names = [c.name for c in wanted if c.name in file.columns]
                part = parquet.read_row_groups(sorted(given.selection.groups[file.path]), columns=names)
        except (OSError, pa.ArrowInvalid) as error:
            raise damaged(path, error) from error
        batches += [conform(b, arrow_schema(wanted)) for b in part.to_batches()]
    # The relation must have all its columns; those the query does not name are NULL here and never looked at.
    return pa.Table.from_batches([conform(b, arrow_schema(columns)) for b in batches], schema=arrow_schema(columns))


def _duckdb_type(kind: DataType) -> str:
    return {"STRING": "VARCHAR", "BINARY": "BLOB", "TIMESTAMP": "TIMESTAMPTZ"}.get(kind.name, str(kind))


def _list(paths: list[str]) -> str:
    return "[" + ", ".join("'" + p.replace("'", "''") + "'" for p in paths) + "]"


def _really_read(cursor: duckdb.DuckDBPyConnection) -> int:
    """Bytes of files read, as DuckDB counted them."""
    found: dict[str, Any] = json.loads(cursor.get_profiling_information(format="json"))
    return int(found["io"]["total_bytes_read"])


def damaged(path: Path, error: BaseException) -> MillpondError:
    return CorruptBlock(
        f'archive file "{path.parent.name}/{path.name}" cannot be read',
        detail=str(error).splitlines()[0],
        hint="Restore the file from a copy.",
    )


def translate_error(error: Exception) -> MillpondError:
    failure = failure_in(error)
    if failure is not None:
        return failure
    text = str(error).splitlines()[0]
    lowered = text.lower()
    if ".parquet" in lowered and any(
        w in lowered
        for w in (
            "magic",
            "corrupt",
            "no such file",
            "no files found",
            "footer",
            "snappy",
            "zstd",
            "thrift",
            "invalid",
            "failed",
        )
    ):
        return CorruptBlock("an archive file cannot be read", detail=text, hint="Restore the file from a copy.")
    kind, _, rest = text.partition(": ")
    if "division by zero" in lowered:
        return EngineError("the query failed: division by zero", hint="Divide by NULLIF(<divisor>, 0), or use CASE.")
    return EngineError(f"the query failed: {rest or kind}", detail=f"DuckDB says: {text}")
