"""The error tree. Every mistake a user can make raises one of these, never a bare library error.

    MillpondError
    ├── SqlError            (ValueError)    the statement is wrong; carries the SQL and the place in it
    │   ├── SqlSyntaxError                  it cannot be read
    │   ├── UnknownName     (LookupError)   a table, column, index, source or function does not exist
    │   ├── TypeMismatch    (TypeError)     a value or expression has the wrong type
    │   └── UnsupportedSql                  it can be read, but millpond does not do it
    ├── CatalogError        (ValueError)    a definition clashes with what exists
    ├── PondError           (OSError)       the folder, its lock or its files
    │   ├── NotAPond
    │   ├── SecondWriter
    │   ├── ForkedPond
    │   ├── DiskFull
    │   └── CorruptBlock
    ├── NotPermitted        (PermissionError) a statement reaches beyond the pond, and the setting privileged is off
    ├── IntakeError         (ValueError)    rows that cannot be taken as they were offered
    ├── SynopsisError       (ValueError)    a synopsis was given what it cannot take (`millpond.synopses`)
    ├── FunctionError       (RuntimeError)  a user's function failed
    ├── LimitExceeded       (RuntimeError)  a statement is longer, or takes more time or memory, than a setting allows
    ├── Cancelled           (RuntimeError)  a statement was stopped before it was done
    ├── EngineError         (RuntimeError)  Spark or DuckDB could not do its part
    │   ├── SparkDied
    │   ├── JavaMissing
    │   └── Unreachable                     another system, such as PostgreSQL, does not answer now
    └── InternalError       (RuntimeError)  a bug in millpond, met where others must go on

An error has a `primary` line (a lower-case fact naming the kind of thing and its name), an optional `detail` (facts, as
sentences) and an optional `hint` (what to do). `code` is stable and meant for programs.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (exclusive) of a SQL text."""

    start: int
    end: int


_AROUND = 100  # characters


def underline(sql: str, span: Span) -> str:
    """The line of `sql` that holds `span`, with the span underlined by carets.

    >>> print(underline("SELECT sped FROM t", Span(7, 11)))
    line 1: SELECT sped FROM t
                   ^^^^
    """
    start = min(max(span.start, 0), len(sql))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = len(sql) if line_end < 0 else line_end
    label = f"line {sql.count(chr(10), 0, start) + 1}: "
    # Of a long line, only what is around the place.
    left, right = max(line_start, start - _AROUND), min(line_end, start + 2 * _AROUND)
    before, after = "..." if left > line_start else "", "..." if right < line_end else ""
    width = max(1, min(span.end, right) - start)
    indent = " " * (len(label) + len(before) + start - left)
    return f"{label}{before}{sql[left:right]}{after}\n{indent}{'^' * width}"


def nearest(name: str, existing: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The existing name most like `name`, or None when nothing is close: 0 is unlike, 1 the same."""
    by_lower = {e.lower(): e for e in existing}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """A number and what it counts, as a message says it.

    >>> counted(1, "row"), counted(1200, "row"), counted(0, "query", "queries"), counted(0.5, "second")
    ('1 row', '1,200 rows', '0 queries', '0.5 seconds')
    """
    number = f"{int(count):,}" if float(count).is_integer() else f"{count:g}"
    return f"{number} {noun if count == 1 else plural or noun + 's'}"


def brief(value: object, longest: int = 60) -> str:
    """A user's value as a message shows it; one that cannot be shown is named by its type."""
    try:
        text = repr(value)
    except Exception:  # it is the user's object: its repr may do anything
        text = f"<{type(value).__name__}>"
    return text if len(text) < longest else text[: longest - 3] + "..."


class MillpondError(Exception):
    """Root of all errors raised by millpond."""

    code = "millpond_error"

    def __init__(self, primary: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(primary)
        self.primary = primary
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.primary]
        if self.detail:
            parts.append(f"Detail: {self.detail}")
        if self.hint:
            parts.append(f"Hint: {self.hint}")
        return "\n".join(parts)


class SqlError(MillpondError, ValueError):
    """A statement is wrong. `sql` and `span` say where, when known."""

    code = "sql_error"

    def __init__(
        self,
        primary: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        sql: str | None = None,
        span: Span | None = None,
    ) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.sql = sql
        self.span = span

    def at(self, sql: str, span: Span | None) -> SqlError:
        """This error, placed in `sql`; keeps a place it already has."""
        if self.sql is None:
            self.sql, self.span = sql, span
        return self

    def within(self, sql: str, begin: int) -> SqlError:
        """This error of a statement, placed in the text `sql` in which the statement begins at `begin`."""
        if self.sql is not None and sql.startswith(self.sql, begin):
            self.sql = sql
            self.span = None if self.span is None else Span(self.span.start + begin, self.span.end + begin)
        return self

    def __str__(self) -> str:
        text = super().__str__()
        if self.sql is not None and self.span is not None:
            first, _, rest = text.partition("\n")
            text = first + "\n" + underline(self.sql, self.span) + ("\n" + rest if rest else "")
        return text


class SqlSyntaxError(SqlError):
    """A statement cannot be read."""

    code = "sql_syntax"


class UnknownName(SqlError, LookupError):
    """Something named in a statement does not exist; offers the nearest name that does."""

    code = "unknown_name"

    def __init__(
        self,
        kind: str,
        name: str,
        existing: Iterable[str] = (),
        *,
        where: str = "",
        hint: str | None = None,
        sql: str | None = None,
        span: Span | None = None,
    ) -> None:
        names = sorted(name for name in set(existing) if not name.startswith("__"))  # those are of the engine
        close = nearest(name, names)
        if hint is None:
            hint = f'Did you mean "{close}"?' if close else None
        detail = None
        if close is None and names:
            detail = f"There is: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}."
        super().__init__(f'{kind} "{name}" does not exist{where}', detail=detail, hint=hint, sql=sql, span=span)
        self.kind = kind
        self.name = name


class TypeMismatch(SqlError, TypeError):
    """A value or expression has the wrong type."""

    code = "type_mismatch"


class UnsupportedSql(SqlError):
    """A statement can be read, but millpond does not do it."""

    code = "unsupported_sql"


class CatalogError(MillpondError, ValueError):
    """A definition clashes with what exists, or cannot work."""

    code = "catalog_error"


class PondError(MillpondError, OSError):
    """The folder of a pond, its lock or its files cannot be used."""

    code = "pond_error"


class NotAPond(PondError):
    """The folder is not a pond."""

    code = "not_a_pond"


class SecondWriter(PondError):
    """Another process writes the pond."""

    code = "second_writer"


class ForkedPond(PondError):
    """A forked process uses a pond that its parent opened."""

    code = "forked_pond"

    def __init__(self, parent: int, child: int) -> None:
        super().__init__(
            f"this pond was opened by process {parent}; process {child} is a fork of it",
            detail="A fork shares files and locks with its parent but has none of its threads,"
            " so only the process that opened a pond can use it.",
            hint="Open the pond again in the child with millpond.connect, or start the child with the method 'spawn'.",
        )


class DiskFull(PondError):
    """There is no space left; nothing acknowledged is lost."""

    code = "disk_full"


class CorruptBlock(PondError):
    """A file of the pond is damaged."""

    code = "corrupt_block"


class NotPermitted(MillpondError, PermissionError):
    """A statement reaches beyond the pond, and the setting `privileged` is off."""

    code = "not_permitted"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} cannot be defined here",
            detail="It reaches beyond the pond, and the setting privileged is off.",
            hint="Define it in a process that opens the pond with privileged=True.",
        )


class IntakeError(MillpondError, ValueError):
    """Rows cannot be taken as they were offered."""

    code = "intake_error"


class ResultsGone(MillpondError, LookupError):
    """A client comes for results that are no longer kept, or are lost with damaged files."""

    code = "results_gone"

    def __init__(self, query: str, position: int, first: int, *, lost: bool = False) -> None:
        if lost:
            super().__init__(
                f'results of "{query}" after position {position} are lost',
                detail=f"Files of the pond were deleted or damaged. The next one that is there is number {first}.",
                hint=f"Go on with after={first - 1}, or restore the files from a copy.",
            )
            return
        super().__init__(
            f'results of "{query}" after position {position} are no longer kept',
            detail=f"The oldest one kept is number {first}.",
            hint=f"Go on with after={first - 1}, and give the query a longer RANGE.",
        )


class UnknownPosition(MillpondError, LookupError):
    """A client comes back with a position that the query's results have not reached."""

    code = "unknown_position"

    def __init__(self, query: str, position: int, after: int) -> None:
        super().__init__(
            f'"{query}" has not sent a result of number {position}',
            detail=f"The next one it sends has number {after}."
            " The position is of another query, or of one of this name that was dropped.",
            hint="Leave out the position to begin with the oldest result that is kept.",
        )


class FunctionError(MillpondError, RuntimeError):
    """A user's function raised, or gave something else than it declares."""

    code = "function_error"


class LimitExceeded(MillpondError, RuntimeError):
    """A statement is longer, or takes more time or memory, than is allowed. `setting` is the one that allows more."""

    code = "limit_exceeded"

    def __init__(
        self, primary: str, *, setting: str | None, detail: str | None = None, hint: str | None = None
    ) -> None:
        if setting is not None and hint is None:
            hint = f"Setting {setting} is the limit; connect(..., {setting}=...) raises it."
        super().__init__(primary, detail=detail, hint=hint)
        self.setting = setting


class Cancelled(MillpondError, RuntimeError):
    """A statement was stopped before it was done; it has changed nothing."""

    code = "cancelled"


class EngineError(MillpondError, RuntimeError):
    """Spark or DuckDB could not do its part."""

    code = "engine_error"


class SparkDied(EngineError):
    """The process in which Spark runs has ended."""

    code = "spark_died"

    def __init__(self, how: str, log: str) -> None:
        super().__init__(
            "Spark has ended unexpectedly",
            detail=how,
            hint="Try again: Spark is then started anew. If it happens again, look for the reason in the system's log"
            f" (too little memory?) and in {log}.",
        )


class JavaMissing(EngineError):
    """Spark is needed and there is no Java of version 17 or newer."""

    code = "java_missing"


class Unreachable(EngineError):
    """Another system, such as PostgreSQL or Spark, cannot be reached or does not answer at present: it may do so later."""

    code = "unreachable"


class InternalError(MillpondError, RuntimeError):
    """A bug in millpond, not a mistake of the user. Met where other work must go on, such as in one of many queries."""

    code = "internal_error"

    def __init__(self, primary: str, *, detail: str) -> None:
        hint = "This is a bug in millpond. Please report it with the traceback, which the log has (logger millpond)."
        super().__init__(primary, detail=detail, hint=hint)


class RowsRejected(UserWarning):
    """Some offered rows were malformed and went to the table's `_rejected` table."""
