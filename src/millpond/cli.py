"""The `millpond` command: SQL from a shell, the pipeline in the foreground, and what a pond is doing.

A thin face over `millpond.connect`; it decides nothing. Errors are printed as primary, detail and hint, without a trace,
and the exit code is 1; a mistake in how the command is called exits with 2, Ctrl-C with 130 where it breaks something off.
"""

from __future__ import annotations

import csv
import functools
import json
import logging
import os
import shlex
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from millpond import MillpondError, Pond, Result, RowsRejected, __version__, connect
from millpond.errors import SqlError, counted

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="millpond keeps streams and answers questions about them, in SQL.",
)

PondPath = Annotated[Path, typer.Option("--pond", help="The folder of the pond.", show_default=False)]


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"millpond {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """What stands before the command."""


@contextmanager
def _errors() -> Iterator[None]:
    warnings.simplefilter("ignore", RowsRejected)  # the statement's own message says it
    try:
        with _on_interrupt(_break_off, signal.SIGINT):
            yield
            if sys.stdout is not None:
                sys.stdout.flush()  # here, where it can still be told that it failed
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except MillpondError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except BrokenPipeError:  # the reader of our output went away: nothing to say, and nobody to say it to
        sys.stderr.close()
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"error: the output cannot be written: {error.strerror or error}", err=True)
        with suppress(OSError, ValueError):  # what is left of it must not fail again when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None


INTERRUPTED = 130  # the exit code that shells know: 128 and the number of SIGINT


def _break_off() -> None:
    raise KeyboardInterrupt


@contextmanager
def _on_interrupt(first: Callable[[], None], *signals: signal.Signals) -> Iterator[None]:
    """Say at once that we stop, then call `first`; the second time end the process as it is, without a word.

    A pond needs no goodbye: what it accepted is durable, and Spark's JVM ends with us.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            if os.isatty(1):
                os.write(1, b"\x1b[?25h")  # the cursor, which a live screen hides
            os._exit(INTERRUPTED)
        asked = True
        with suppress(OSError):
            os.write(2, b"\nstopping ...\n")  # not by way of sys.stderr, in the midst of whose writing we may be
        first()

    before = {number: signal.signal(number, handle) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _telling() -> Iterator[None]:
    """Print what millpond logs, that is, that Spark is being started and why: somebody is waiting for it."""
    log = logging.getLogger("millpond")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(("\r\x1b[K" if sys.stderr.isatty() else "") + "%(message)s"))
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


@app.command(short_help="Run SQL statements and print what they give.")
def sql(
    pond: PondPath,
    statements: Annotated[
        str | None, typer.Argument(help="Statements separated by ';'. Without them: standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the statements from this file.")] = None,
    format: Annotated[Format, typer.Option("--format", help="How rows are printed.")] = Format.TABLE,
) -> None:
    """Run SQL: SELECT, INSERT, CREATE STREAMING TABLE, EXPLAIN, SHOW TABLES and so on.

    Example: millpond sql --pond traffic "SELECT * FROM posreports [vid ROWS 1]"
    """
    if statements is not None and file is not None:
        raise typer.BadParameter("give statements or --file, not both")
    with _errors():
        text = statements if statements is not None else _read(file)
        from millpond.sql.parser import parse
        from millpond.sql.statements import CreateSource, CreateStandardTable, CreateStreamingTable

        parsed = parse(text)
        creates = any(isinstance(s, (CreateStreamingTable, CreateStandardTable, CreateSource)) for s in parsed)
        with _telling(), connect(pond, create=creates, auto_archive=False) as db:
            for statement in parsed:
                feeds = set(db.status()["feeds"])
                begin, end = statement.span.start, statement.span.end
                try:
                    _print(db.sql(text[begin:end]), format)
                except SqlError as error:
                    raise error.within(text, begin) from None
                if format is Format.TABLE and set(db.status()["feeds"]) - feeds:
                    command = f"millpond run --pond {shlex.quote(str(pond))}"
                    typer.echo(f"This command ends now: start `{command}` to let them flow.")


def _read(file: Path | None) -> str:
    if file is None:
        if sys.stdin is None:
            raise typer.BadParameter("give statements or --file: standard input is closed")
        if sys.stdin.isatty():
            typer.echo("reading statements from the terminal; end with Ctrl-D", err=True)
        return sys.stdin.read().removeprefix("\ufeff")
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"cannot read {file}: {error}") from error


def _print(result: Result, format: Format) -> None:
    if not result.columns:
        if format is Format.TABLE:
            typer.echo(repr(result))
        return
    if format is Format.TABLE:
        typer.echo(repr(result))
    elif format is Format.CSV:
        _print_csv(result, header=True)
    else:
        names = _apart(result.columns)
        for row in result:
            typer.echo(json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False))
    if result.reduction is not None and format is not Format.TABLE:
        typer.echo(str(result.reduction), err=True)  # a reduced answer never looks like an exact one


def _apart(names: list[str]) -> list[str]:
    """The names, those that come again with a number: an object of JSON has each once."""
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in found or (number > 1 and unique in names):
            number += 1
            unique = f"{name}_{number}"
        found.append(unique)
    return found


def _print_csv(result: Result, *, header: bool) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if header:
        writer.writerow(result.columns)
    writer.writerows(["" if v is None else v for v in row] for row in result)


@app.command(short_help="Print results of a continuous query as they appear.")
def subscribe(
    query: Annotated[str, typer.Argument(help="The name of a continuous query or streaming view.", show_default=False)],
    pond: PondPath,
    after: Annotated[int | None, typer.Option("--after", help="Begin after the result with this number.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Begin with the first result of this time.")] = None,
    format: Annotated[Format, typer.Option("--format", help="How rows are printed.")] = Format.TABLE,
    once: Annotated[bool, typer.Option("--once", help="Print what is kept and end.")] = False,
) -> None:
    """Print the results of a continuous query as they appear, from the next one on. Ctrl-C ends it.

    The last column, _seq, numbers the results: go on later with --after. It only reads, so it works beside the process that
    writes the pond. With --once it begins with the oldest result that is kept.
    """
    if after is not None and since is not None:
        raise typer.BadParameter("give --after or --since, not both")
    with _errors(), _interrupted() as stop, connect(pond, create=False) as db:
        if after is None and since is None and not once:
            after = _last(db, query)
        cursor = db.resume(query, after=after, since=since)
        if not once and not db.status()["written"]:
            typer.echo("nobody writes this pond now; results appear once somebody does (millpond run)", err=True)
        header = True
        while not stop.is_set():
            rows = cursor.fetch(_TABLE_ROWS if format is Format.TABLE else _MOST_ROWS)
            if rows and format is Format.CSV:
                _print_csv(rows, header=header)
            elif rows:
                _print(rows, format)
            elif once:
                break
            else:
                stop.wait(_LOOK)
            if rows:
                header = False
                sys.stdout.flush()
        if cursor.position >= 0:
            typer.echo(f"go on with --after {cursor.position}", err=True)


_TABLE_ROWS = 40  # as many as a table shows
_MOST_ROWS = 10_000
_LOOK = 0.1  # seconds between looks at what another process writes


def _last(db: Pond, query: str) -> int:
    """The number of the last result there is."""
    found = db.status()["queries"].get(query.lower())
    return int(found["sent"]) - 1 if found is not None else db.resume(query).position  # raises, with the nearest name


@contextmanager
def _interrupted() -> Iterator[threading.Event]:
    """An event that Ctrl-C or a request to end sets, instead of breaking off."""
    stop = threading.Event()
    with _on_interrupt(stop.set, signal.SIGINT, signal.SIGTERM):
        yield stop


@app.command(short_help="Run feeds, queries and archiving in the foreground.")
def run(
    pond: PondPath,
    seconds: Annotated[float | None, typer.Option("--seconds", help="Stop by itself after this time.")] = None,
) -> None:
    """Run the pipeline in the foreground: feeds flow in, queries are answered, triggers called, rows archived. Ctrl-C stops
    it; nothing is lost."""
    with _errors(), _telling(), _interrupted() as stop, connect(pond, create=False) as db:
        typer.echo(f"pond {db.folder}: running; Ctrl-C stops it", err=True)
        db.start()
        _watch(db, stop, seconds)
        if not stop.is_set():
            typer.echo("\nstopping ...", err=True)


def _watch(db: Pond, stop: threading.Event, seconds: float | None) -> None:
    live = sys.stderr.isatty()
    begin = last_time = time.monotonic()
    last_rows = sum(t["accepted"] for t in db.status()["tables"].values())
    told: set[str] = set()
    while not stop.is_set() and (seconds is None or time.monotonic() - begin < seconds):
        if stop.wait(0.5 if live else 5.0):
            return
        state = db.status()
        now, rows = time.monotonic(), sum(t["accepted"] for t in state["tables"].values())
        line = status_line(state, (rows - last_rows) / max(now - last_time, 1e-9))
        last_time, last_rows = now, rows
        if live:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
        else:
            typer.echo(line, err=True)
        for name, feed in state["feeds"].items():
            if feed["state"] == "failed" and name not in told:
                told.add(name)
                typer.echo(f'\nfeed "{name}" failed: {feed["problem"]}', err=True)
        for line in trigger_lines(state):
            if line not in told:
                told.add(line)
                typer.echo(f"\n{line}", err=True)
        pipeline = state["pipeline"]
        if pipeline and pipeline["state"] in ("stopped", "failed"):
            raise MillpondError(f"the pipeline stopped: {pipeline['problem']}")  # which has detail and hint


def status_line(state: dict[str, Any], rate: float) -> str:
    """One line on what a pond is doing."""
    tables = state["tables"].values()
    total, tail = sum(t["rows"] or 0 for t in tables), sum(t["tail_rows"] for t in tables)
    files, size = sum(t["archived_files"] for t in tables), sum(t["archived_bytes"] for t in tables)
    rejected = sum(t["rejected"] for t in tables)
    pipeline = state["pipeline"]
    return (
        f"{rate:>10,.0f} rows/s | {counted(total, 'row')}, {tail:,} in the tail | "
        f"{counted(files, 'file')}, {size / 1e6:,.1f} MB | {rejected:,} rejected | {queries_text(state)} | {phase_text(pipeline)}"
    )


def phase_text(pipeline: dict[str, Any] | None) -> str:
    """What the pipeline is doing."""
    if pipeline is None:
        return "no pipeline"
    if pipeline["state"] == "starting":
        return "starting Spark"
    if pipeline["state"] == "retrying":
        return "Spark failed, trying again"
    return counted(pipeline["ticks"], "tick") if pipeline["ticks"] else "nothing to archive yet"


def queries_text(state: dict[str, Any]) -> str:
    """How many continuous queries there are, views among them, and how many results they have sent."""
    queries = state["queries"].values()
    sent = sum(q["sent"] for q in queries)
    troubled = sum(1 for q in queries if q["problem"])
    return (
        f"{len(queries)} continuous quer{'y' if len(queries) == 1 else 'ies'}"
        f"{f' ({troubled} in trouble)' if troubled else ''}, {sent:,} result{'' if sent == 1 else 's'} sent"
    )


def query_lines(state: dict[str, Any]) -> list[str]:
    """What is wrong with continuous queries, and which are paused."""
    lines = []
    for name, query in state["queries"].items():
        if query["problem"]:
            lines.append(f'query "{name}": {query["problem"].splitlines()[0]}')
        elif query["state"] == "paused":
            lines.append(f'query "{name}": paused')
    return lines


def feed_lines(state: dict[str, Any]) -> list[str]:
    """Each feed, and whether it runs, as far as this process knows."""
    return [
        f'feed "{name}": {feed["problem"] or feed["state"] or "run by the process that writes the pond"}'
        for name, feed in state["feeds"].items()
    ]


def trigger_lines(state: dict[str, Any]) -> list[str]:
    """What is wrong with triggers."""
    lines = []
    for trigger in state["triggers"]:
        named = f'trigger of "{trigger["query"]}" to {trigger["target"]}'
        if trigger["problem"]:
            lines.append(f"{named} fails and is tried again: {trigger['problem']}")
        if trigger["missed"]:
            lines.append(f"{named} missed results that are no longer kept; see SHOW TRIGGERS")
    return lines


@app.command(short_help="What the pond holds, and who writes it.")
def status(
    pond: PondPath,
    format: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.TABLE,
) -> None:
    """What the pond holds, whether it is being written, and by whom."""
    with _errors(), connect(pond, create=False) as db:
        state = db.status()
        if format is Format.JSON:
            typer.echo(json.dumps(state, default=str))
            return
        from millpond.lock import holder

        who = (holder(db.folder) or "") if state["written"] else "Nobody writes it now."
        if format is Format.TABLE:
            typer.echo(f"pond {db.folder}\n{who}")
        _print(db.sql("SHOW TABLES"), format)
        if format is Format.TABLE:
            for line in (*feed_lines(state), queries_text(state), *query_lines(state), *trigger_lines(state)):
                typer.echo(line)


class _Guarded(TyperGroup):
    """Commands of an application, whose errors are told like our own."""

    def invoke(self, ctx: Any) -> Any:
        with _errors():
            return super().invoke(ctx)


COMMANDS = "millpond.commands"


def add_commands(app: typer.Typer, found: Iterable[EntryPoint]) -> None:
    """Add the commands of installed applications.

    An application declares an entry point of the group `millpond.commands`, which is a Typer app (a group of commands) or a
    function (one command). One that cannot be loaded is reported and left out; the others work. A name that is taken stays with
    who has it.
    """
    taken = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    for point in sorted(found, key=lambda each: each.name):
        if point.name in taken:
            typer.echo(f'warning: command "{point.name}" of {point.value} is left out: the name is taken', err=True)
            continue
        try:
            command = point.load()
        except Exception as error:
            typer.echo(f'warning: command "{point.name}" cannot be loaded from {point.value}: {error}', err=True)
            continue
        taken.add(point.name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=point.name, cls=_Guarded)
        else:
            app.command(name=point.name)(_guarded(command))


@functools.cache
def with_applications() -> typer.Typer:
    """The command with those of the installed applications."""
    add_commands(app, entry_points(group=COMMANDS))
    return app


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        with _errors():
            command(*arguments, **options)

    return run


def main() -> None:
    """Entry point of the `millpond` command."""
    with_applications()()
