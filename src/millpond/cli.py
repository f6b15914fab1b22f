"""The `millpond` command: SQL from a shell, the pipeline in the foreground, and what a pond is doing.

A thin face over `millpond.connect`; it decides nothing. Errors are printed as primary, detail and hint, without a trace,
and the exit code is 1; a mistake in how the command is called exits with 2.
"""

from __future__ import annotations

import csv
import json
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond import MillpondError, Pond, Result, RowsRejected, connect

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


@contextmanager
def _errors() -> Iterator[None]:
    warnings.simplefilter("ignore", RowsRejected)  # the statement's own message says it
    try:
        yield
    except MillpondError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except BrokenPipeError:  # the reader of our output went away: nothing to say, and nobody to say it to
        sys.stderr.close()
        raise typer.Exit(1) from None


@app.command()
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
        with connect(pond, create=creates, auto_archive=False) as db:
            for statement in parsed:
                _print(db.sql(statement.sql[statement.span.start : statement.span.end]), format)


def _read(file: Path | None) -> str:
    if file is None:
        if sys.stdin.isatty():
            typer.echo("reading statements from the terminal; end with Ctrl-D", err=True)
        return sys.stdin.read()
    try:
        return file.read_text()
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
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(result.columns)
        writer.writerows(["" if v is None else v for v in row] for row in result)
    else:
        for row in result:
            typer.echo(json.dumps(dict(zip(result.columns, row, strict=True)), default=str, ensure_ascii=False))


@app.command()
def run(
    pond: PondPath,
    seconds: Annotated[float | None, typer.Option("--seconds", help="Stop by itself after this time.")] = None,
) -> None:
    """Run the pipeline in the foreground: feeds flow in, rows are archived. Ctrl-C stops it; nothing is lost."""
    with _errors(), connect(pond, create=False) as db:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        typer.echo(f"pond {db.folder}: starting Spark (takes some seconds; Ctrl-C stops)", err=True)
        db.start()
        _watch(db, stop, seconds)
        typer.echo("\nstopping", err=True)


def _watch(db: Pond, stop: threading.Event, seconds: float | None) -> None:
    live = sys.stderr.isatty()
    begin = last_time = time.monotonic()
    last_rows = sum(t["accepted"] for t in db.status()["tables"].values())
    told: set[str] = set()
    while not stop.is_set() and (seconds is None or time.monotonic() - begin < seconds):
        stop.wait(0.5 if live else 5.0)
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
            if feed["error"] and name not in told:
                told.add(name)
                typer.echo(f'\nfeed "{name}" stopped: {feed["error"]}', err=True)
        pipeline = state["pipeline"]
        if pipeline and not pipeline["running"]:
            raise MillpondError("the pipeline stopped", detail=pipeline["error"])


def status_line(state: dict[str, Any], rate: float) -> str:
    """One line on what a pond is doing."""
    tables = state["tables"].values()
    total, tail = sum(t["rows"] for t in tables), sum(t["tail_rows"] for t in tables)
    files, size = sum(t["files"] for t in tables), sum(t["bytes"] for t in tables)
    rejected = sum(t["late"] + t["malformed"] for t in tables)
    pipeline = state["pipeline"]
    phase = (
        "no pipeline" if pipeline is None else f"{pipeline['ticks']} ticks" if pipeline["ready"] else "starting Spark"
    )
    return (
        f"{rate:>10,.0f} rows/s | {total:,} rows, {tail:,} in the tail | "
        f"{files} files, {size / 1e6:,.1f} MB | {rejected:,} rejected | {phase}"
    )


@app.command()
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


@app.command()
def demo(
    pond: Annotated[Path, typer.Option("--pond", help="Where to put the demo's pond; emptied first.")] = Path(
        "demo-pond"
    ),
    seconds: Annotated[int, typer.Option("--seconds", help="How long the live part runs.", min=5)] = 60,
    history: Annotated[int, typer.Option("--history", help="Minutes of traffic to load before.", min=1)] = 90,
) -> None:
    """Fill a pond with generated traffic in real time and ask it about now and about the past."""
    from linear_road.demo import run_demo

    with _errors():
        run_demo(pond, live_seconds=seconds, history_minutes=history)


def main() -> None:
    """Entry point of the `millpond` command."""
    app()
