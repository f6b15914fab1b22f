"""The `millpond linearroad` commands. A thin face: the work is done in the modules it calls.

What they need is imported when a command runs, so that `millpond --help` stays quick. Mistakes become `MillpondError`s with
what is wrong, where, and what to do; the `millpond` command prints them and ends with 1.
"""

from __future__ import annotations

import errno
import math
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import millpond
from linear_road.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from linear_road.questions import Questions
    from linear_road.run import Moment, Run, RunConfig
    from linear_road.survey import Facts
    from linear_road.validator import Verdict

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Linear Road, the benchmark of stream systems: make traffic, answer it, check the answers.",
    short_help="Linear Road, the benchmark: generate, run, validate, rate, report.",
)


class Format(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors of files and values as `MillpondError`s; those of other libraries say enough by themselves."""
    try:
        yield
    except (millpond.MillpondError, BrokenPipeError):
        raise
    except FileNotFoundError as error:
        raise millpond.MillpondError(f'there is no file "{error.filename}"') from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            hint = "Make room, and give the same command again: a run goes on where it was."
            raise millpond.MillpondError("the disk is full", detail=str(error), hint=hint) from error
        raise millpond.MillpondError(str(error)) from error
    except (ValueError, RuntimeError) as error:
        if isinstance(error, typer.Exit):
            raise
        raise millpond.MillpondError(str(error)) from error


def _must_exist(*options: tuple[str, Path | None]) -> None:
    for option, path in options:
        if path is not None and not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise millpond.MillpondError(f'the file "{path}" of {option} {what}')


# --- generate ---------------------------------------------------------------------------------------------------------
@app.command(short_help="Make an input with its histories.")
def generate(
    out: Annotated[Path, typer.Option("--out", help="The folder for the three files.", show_default=False)],
    xways: Annotated[float, typer.Option("--xways", help="L: expressways, in halves.")] = 1.0,
    minutes: Annotated[int, typer.Option("--minutes", help="How many minutes of traffic.")] = 180,
    start: Annotated[int, typer.Option("--start", help="The minute to begin with; the run itself begins at 0.")] = 0,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same files.")] = 0,
    days: Annotated[int, typer.Option("--days", help="Days of history; the benchmark has 70.", min=1, max=70)] = 70,
    format: Annotated[Format, typer.Option("--format", help="Parquet is smaller and quicker to read.")] = Format.CSV,
) -> None:
    """Make traffic by simulation, and the toll and segment history before it: input, tolls and segments in --out.

    Three hours of one expressway are about 12 million reports: 1,100 in the first minute, 100,000 in the last. At full
    size the histories are 10 million rows of tolls and 20 million of segments for each expressway.

    Example: millpond linearroad generate --xways 2 --minutes 180 --seed 7 --out lr
    """
    from rich.console import Console

    from linear_road import generate as generating
    from linear_road.load import TrafficConfig
    from linear_road.progress import Bars, say

    with _plain_errors():
        config = TrafficConfig(xways=xways, minutes=minutes, seed=seed, start_minute=start)
        console = Console()
        with Bars(console) as bars:
            paths = generating.generate(
                config, out, format.value, days, lambda p: bars.move(p.file, p.share, counted(p.rows, "row"))
            )
        for path in paths.values():
            say(console, f"{path}: {path.stat().st_size / 1e6:,.1f} MB")
        history = f"--tolls {_quoted(paths['tolls'])} --segments {_quoted(paths['segments'])}"
        say(console, f"next: millpond linearroad run --input {_quoted(paths['input'])} {history} --out run1")


# --- run --------------------------------------------------------------------------------------------------------------
InputPath = Annotated[
    Path, typer.Option("--input", help="The input: CSV, or Parquet with the same columns.", show_default=False)
]
TollsPath = Annotated[Path | None, typer.Option("--tolls", help="The toll history; none: every expenditure is 0.")]
SegmentsPath = Annotated[
    Path | None, typer.Option("--segments", help="The segment history; none: every travel time is 0.")
]
Today = Annotated[int | None, typer.Option("--today", help="Day of the week of the run, 1-7 [1].", min=1, max=7)]


@app.command(short_help="Answer an input, with a live screen.")
def run(
    input: InputPath,
    out: Annotated[
        Path, typer.Option("--out", help="The folder of the run: answers, journal, figures, pond.", show_default=False)
    ],
    tolls: TollsPath = None,
    segments: SegmentsPath = None,
    speed: Annotated[
        str, typer.Option("--speed", help="1: real time; N: N times as fast; max: as fast as it goes.")
    ] = "1",
    pond: Annotated[Path | None, typer.Option("--pond", help="Where the pond is, if not in --out.")] = None,
    today: Today = None,
) -> None:
    """Answer an input: a driver hands over each second's tuples at that second, and every answer goes to OUT/output.csv.

    Every report stays in the pond and can be asked for with `millpond sql`, also while the run goes on. Ctrl-C ends it at
    once; the same command goes on where it was. Response times are real seconds from the hand-over of a tuple to the
    writing of its answer: at --speed max tuples wait for their turn, and late answers are to be expected.

    Example: millpond linearroad run --input lr/input.csv --tolls lr/tolls.csv --segments lr/segments.csv --out run1
    """
    from rich.console import Console

    from linear_road import run_folder
    from linear_road.progress import say
    from linear_road.run import RunConfig

    with _plain_errors():
        check_speed(speed)
        _must_exist(("--input", input), ("--tolls", tolls), ("--segments", segments))
        config = RunConfig(input, out, tolls, segments, pond, speed, today=today or 1)
        console = Console()
        state = run_folder.state_of(out)
        if state in (run_folder.State.UNDER_WAY, run_folder.State.FINISHED):
            run_folder.check_same(config)
        if state is run_folder.State.FINISHED:
            _tell_finished(console, config)
            return
        if state is run_folder.State.UNDER_WAY:
            facts = run_folder.facts_of(out)
        else:
            facts = _survey(console, input)
            run_folder.begin(config, facts)
        try:
            drive(console, config, facts)
        except KeyboardInterrupt:
            say(console, f"broken off; the same command goes on with the run in {out}")
            raise


def check_speed(speed: str) -> None:
    """1, N or max."""
    try:
        good = speed == "max" or (float(speed) > 0 and math.isfinite(float(speed)))
    except ValueError:
        good = False
    if not good:
        hint = "Give 1 for real time, a number for so many times as fast, or max."
        raise millpond.MillpondError(f'--speed "{speed}" is no speed', hint=hint)


def _survey(console: Console, input: Path) -> Facts:
    from linear_road.progress import Bars
    from linear_road.survey import survey

    with Bars(console) as bars:
        return survey(input, lambda share: bars.move(f"looking through {input.name}", share))


def drive(console: Console, config: RunConfig, facts: Facts, asking: Questions | None = None) -> None:
    """Prepare, run with the live screen, and tell how it went."""
    from linear_road.progress import say
    from linear_road.run import Run
    from linear_road.screen import Watcher

    what = f"{counted(facts.tuples, 'tuple')} of {counted(facts.xways, 'expressway')}"
    say(console, f"{config.input}: {what}, seconds {facts.first} to {facts.last}")
    with Run(config) as running:
        with console.status("preparing") as status:

            def tell(text: str) -> None:
                status.update(text)
                if not console.is_terminal:
                    say(console, text)

            running.prepare(tell)
        if asking is not None:
            asking.start(running.db)
        try:
            with Watcher(console, facts, asking) as watcher:
                running.drive(watcher)
        finally:
            if asking is not None:
                asking.stop()
        found = running.finish()
    late = tell_answers(console, found)
    wall, tuples = found["wall"], found["tuples"]
    kept = counted(found["kept_reports"], "report is", "reports are")
    say(console, f"{counted(tuples, 'tuple')} in {wall:,.0f} s; {kept} kept; {config.out}/output.csv")
    if config.speed == "max" and late:
        say(
            console,
            "Late answers are no wonder at --speed max, where tuples wait for their turn: validate with --late-ok.",
        )
    if found["driver_behind"] > 1:
        say(
            console,
            f"The driver was up to {found['driver_behind']:.1f} s behind: the machine was too busy to keep time.",
        )


def tell_answers(console: Console, found: dict[str, Any]) -> int:
    """Print a table of response times; how many types had answers beyond their limit."""
    from rich.table import Table

    from linear_road.screen import NAMES

    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("response times (s)")
    for name in ("answers", "mean", "p99", "max", "limit"):
        table.add_column(name, justify="right")
    late = 0
    for kind, name in NAMES.items():
        answers, limit = found["answers"][str(kind)], found["limits"][str(kind)]
        times = [_seconds(answers["mean"]), _tail(answers["p99"]), _seconds(answers["max"])]
        late += (answers["max"] or 0) > limit
        table.add_row(name, f"{answers['answers']:,}", *times, str(limit))
    console.print(table)
    return late


def _seconds(time: float | None) -> str:
    return "-" if time is None else f"{time:.2f}"


def _tail(time: float | None) -> str:
    """A percentile: a run counts response times beyond a minute together."""
    return "> 60" if time is not None and time > 60 else _seconds(time)


def _tell_finished(console: Console, config: RunConfig) -> None:
    import json

    from linear_road.progress import say

    say(console, f"this run is finished: {config.out}/output.csv")
    tell_answers(console, json.loads((config.out / "run.json").read_text("utf-8")))
    say(console, "To run again, at this or another --speed, give another --out.")


# --- validate ---------------------------------------------------------------------------------------------------------
@app.command(short_help="Check answers against their input.")
def validate(
    input: InputPath,
    output: Annotated[Path, typer.Option("--output", help="The answers, or the folder of a run.", show_default=False)],
    tolls: TollsPath = None,
    segments: SegmentsPath = None,
    late_ok: Annotated[bool, typer.Option("--late-ok", help="Count late answers, but forgive them.")] = False,
    today: Today = None,
    start: Annotated[
        int | None, typer.Option("--timed-from", help="Time only answers to tuples from this second on.")
    ] = None,
) -> None:
    """Work out the right answers from the input again and compare. Ends with 0 only if every answer is there, once, right and
    in time, else with 1.

    It shares no code with the application. For the output of `millpond linearroad run` the histories of that run are
    taken unless others are given, and the verdict is kept beside the output, for the report. A run at --speed max has
    late answers; --late-ok is for that.

    Example: millpond linearroad validate --input lr/input.csv --output run1/output.csv --tolls lr/tolls.csv
    """
    from rich.console import Console

    from linear_road import run_folder
    from linear_road.progress import say

    with _plain_errors():
        file = output / "output.csv" if output.is_dir() else output
        before = run_folder.known(file.parent)
        if before and run_folder.state_of(file.parent) is not run_folder.State.FINISHED:
            again = "Give the same `millpond linearroad run` again to finish it."
            typer.echo(f"the run in {file.parent} has not ended: answers will be missing. {again}", err=True)
        if before and tolls is None and segments is None:
            tolls, segments = (Path(before[name]) if before[name] else None for name in ("tolls", "segments"))
            typer.echo(f"histories of the run: {tolls or 'no tolls'}, {segments or 'no segments'}", err=True)
        today = today or before.get("today") or 1
        _must_exist(("--input", input), ("--output", file), ("--tolls", tolls), ("--segments", segments))
        console = Console()
        verdict = judge(console, input, file, tolls, segments, today, late_ok, start)
        say(console, str(verdict))
        if not verdict.ok:
            raise typer.Exit(1)


def judge(
    console: Console, input: Path, output: Path, tolls: Path | None, segments: Path | None, today: int, late_ok: bool,
    start: int | None = None,
) -> Verdict:  # fmt: skip
    """Validate with a progress bar; the verdict is kept beside the output of a run, if it is about the run's own input."""
    from linear_road import run_folder, validator
    from linear_road.progress import Bars

    with Bars(console) as bars:
        verdict = validator.validate(
            input, output, tolls=tolls, segments=segments, today=today, late_ok=late_ok, start=start,
            on_progress=lambda p: bars.move(p.stage, p.share),
        )  # fmt: skip
    if run_folder.known(output.parent).get("input") == str(input.absolute()):
        (output.parent / "verdict.json").write_text(verdict.to_json(), "utf-8")
    return verdict


# --- rate -------------------------------------------------------------------------------------------------------------
@app.command(short_help="Find how many expressways this machine can answer in time.")
def rate(
    out: Annotated[Path, typer.Option("--out", help="The folder of the rating.", show_default=False)],
    minutes: Annotated[
        str, typer.Option("--minutes", help="The stretch of the three hours; its second half goes in real time.")
    ] = "160-180",
    first: Annotated[float, typer.Option("--first", help="The L to begin with.", min=0.5)] = 1.0,
    most: Annotated[float, typer.Option("--max", help="The largest L to try.", min=0.5)] = 128.0,
    days: Annotated[int, typer.Option("--days", help="Days of history to generate and load.", min=0, max=70)] = 70,
    otq: Annotated[
        int, typer.Option("--otq", help="One-time queries a minute beside it (L++): 20, 100, 200.", min=0)
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Of the traffic.", min=0)] = 7,
    keep: Annotated[bool, typer.Option("--keep", help="Keep inputs and ponds, which are large.")] = False,
) -> None:
    """Search the L-rating: double L until a trial fails, then halve the gap. A trial generates the stretch, loads the history,
    replays the first half fast, hands the second over in real time, and validates every answer. OUT/rating.json says what was
    found, which part ran in real time, and on what machine. A trial takes about twice as long as its stretch, and at large L
    gigabytes of disk.

    Example: millpond linearroad rate --out rating --first 8 --max 64
    """
    from rich.console import Console

    from linear_road import rate as rating
    from linear_road.progress import say

    with _plain_errors():
        start, _, end = minutes.partition("-")
        if not (start.isdigit() and end.isdigit() and int(start) + 2 <= int(end) <= 180):
            raise millpond.MillpondError(f'--minutes "{minutes}" is no stretch', hint="Give two minutes, like 160-180.")
        console = Console()
        middle = (int(start) + int(end)) // 2
        config = rating.RateConfig(
            out, first, most, start=int(start), timed=middle, end=int(end), seed=seed, days=days, otq=otq, keep=keep
        )
        found = rating.rate(config, lambda text: say(console, text), _now_and_then(console))
        say(console, f"L = {found['rating']:g}, minutes {middle} to {end} in real time; {out / rating.RESULT}")


def _now_and_then(console: Console) -> Callable[[Moment, Run], None]:
    """A line every ten seconds on how a trial stands."""
    from linear_road.progress import say

    told = 0.0

    def watch(moment: Moment, run: Run) -> None:
        nonlocal told
        if time.monotonic() - told < 10:
            return
        told = time.monotonic()
        cpu, memory = moment.meters.get("cpu", 0.0), moment.meters.get("rss_mb", 0.0)
        waiting = moment.handed + 1 - moment.answered
        gist = f"  second {moment.handed}, {waiting} to be answered, {moment.rate:,.0f} tuples/s"
        say(console, f"{gist}, tick {moment.tick:.2f} s, {cpu:.1f} cores, {memory / 1000:.1f} GB")

    return watch


# --- report -----------------------------------------------------------------------------------------------------------
@app.command(short_help="Write an HTML report of a run or a rating.")
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a run or a rating.", show_default=False)],
) -> None:
    """Write FOLDER/report.html, one file with everything in it: response times over simulated time, CPU and memory, load, the
    road, the verdict if the run was validated, the machine, and what others published."""
    from linear_road.report import write_report

    with _plain_errors():
        typer.echo(write_report(folder))


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
