"""Stories: what a user sees, as text files, run under many conditions that must not change an answer.

A story is a list of steps. The first line is a comment that says in one sentence what is true.

    # a comment
    > CREATE STREAMING TABLE r (...)        a statement; a line that begins with a space goes on with it
    = streaming table "r" created           its message, if it matters
    feed r                                  rows offered with append; `feed r (t, vid)` names the columns
    12:00 | 1 | NULL                        one row a line; quote 'text' that is empty, has spaces around it or a |
    advance r 7                             a heartbeat
    now r                                   the table's time, as expected on the next line
    7
    ? SELECT ...                            a question and its rows, in order
    : vid | spd                             the names of its columns, if they matter
    1 | 50
    ?~ SELECT ...                           the same, in any order
    ! SELECT sped FROM r                    a statement that fails, and its whole message
    column "sped" does not exist ...
    !feed r (sped)                          an offer that is refused, and after `----` its message
    !advance r x                            a heartbeat that is refused
    file a.csv                              a file with the lines that follow appears in {folder}
    wait r 3                                until 3 rows were accepted or rejected by r
    tick                                    the continuous queries are evaluated, as far as time is complete
    changes q                               what query q sent since the last `changes q`, in order: instant, then columns
    : seg | cars                            the names of its columns, if they matter
    + 12:00 | 5 | 3                         `+` came with the result; `-` went, for a query that sends DSTREAM
    changes~ q                              the same; rows of one instant in any order

A blank line ends a step; a message needs one behind it. `with block_rows=8` at the top sets the pond's settings;
`skip cold: reason` says that a story does not run under a condition, and why; `gap cold: reason`, or `gap all: reason`, that it
is known to come out wrong there. `{folder}` in a statement stands for an empty folder of the story's own.

`pytest tests/stories --rewrite` writes what millpond answers, as it is, into the files. Then read the diff.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.catalog import StreamingTable
from millpond.clock import ManualClock
from millpond.errors import MillpondError, RowsRejected
from millpond.pond import Pond

HERE = Path(__file__).parent
BEGIN = 1_798_761_600_000_000  # 2027-01-01 00:00:00 UTC: after the times in the stories
KEYWORDS = (
    "> ",
    "? ",
    "?~ ",
    "! ",
    "!feed ",
    "!advance ",
    "feed ",
    "advance ",
    "now ",
    "file ",
    "wait ",
    "tick",
    "changes ",
    "changes~ ",
    "with ",
    "skip ",
    "gap ",
    "#",
)
READS = ("SELECT", "WITH", "VALUES", "SHOW", "DESCRIBE", "EXPLAIN", "(")
PATIENCE = 120.0  # seconds until a test gives up


@dataclass(frozen=True)
class Condition:
    """What happens around the steps of a story. None of it may change an answer."""

    name: str
    restart: bool = False
    cold: bool = False
    one_row: bool = False
    no_index: bool = False
    reader: bool = False
    shards: int = 2


CONDITIONS = (
    Condition("as-is"),
    Condition("restart", restart=True),
    Condition("cold", cold=True),
    Condition("cold-restart", cold=True, restart=True),
    Condition("one-row", one_row=True),
    Condition("no-index", no_index=True),
    Condition("one-shard", shards=1),
    Condition("four-shards", shards=4),
    Condition("reader", reader=True),
)


@dataclass
class Step:
    """One step as read: `line` is where it begins, `body` is what stands below it (rows offered, or rows expected)."""

    line: int
    kind: str
    text: str
    body: list[str] = field(default_factory=list)
    body_line: int = 0


@dataclass
class Story:
    path: Path
    lines: list[str]
    steps: list[Step]
    settings: dict[str, str]
    skipped: dict[str, str]
    gaps: dict[str, str]

    @property
    def id(self) -> str:
        return str(self.path.relative_to(HERE).with_suffix(""))


def read_story(path: Path) -> Story:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines, f"{path} is empty"
    assert lines[0].startswith("# "), f"{path}: the first line says what is true"
    steps: list[Step] = []
    settings: dict[str, str] = {}
    skipped: dict[str, str] = {}
    gaps: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip() or line.startswith("#"):
            at += 1
            continue
        kind, _, rest = line.partition(" ")
        assert line.startswith(KEYWORDS), f"{path}:{at + 1}: {line!r} is not a step"
        if kind == "with":
            settings.update(item.split("=", 1) for item in rest.split())
            at += 1
            continue
        if kind in ("skip", "gap"):
            names, _, reason = rest.partition(": ")
            assert reason, f"{path}:{at + 1}: {kind} needs a reason"
            every = [c.name for c in CONDITIONS] if names == "all" else names.split(", ")
            (skipped if kind == "skip" else gaps).update(dict.fromkeys(every, reason))
            at += 1
            continue
        step = Step(at + 1, kind, rest)
        at += 1
        while at < len(lines) and lines[at].startswith(" ") and kind in (">", "?", "?~", "!"):
            step.text += "\n" + lines[at]
            at += 1
        step.body_line = at
        # A message may begin like a step (`feed "f" exists already`): it goes to the next blank line.
        message = kind.startswith("!")
        while at < len(lines) and lines[at].strip() and (message or not lines[at].startswith(KEYWORDS)):
            step.body.append(lines[at])
            at += 1
        steps.append(step)
    unknown = {*skipped, *gaps} - {c.name for c in CONDITIONS}
    assert not unknown, f"{path}: no condition is called {unknown}"
    return Story(path, lines, steps, settings, skipped, gaps)


STORIES = [read_story(path) for path in sorted(HERE.glob("*/*.story"))]


# -- values as text ---------------------------------------------------------------------------------------------------


def show_value(value: Any) -> str:
    """A value as a story writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(sep=" ")
    text = str(value)
    if isinstance(value, str) and (text != text.strip() or not text or "|" in text or "\n" in text or text == "NULL"):
        return "'" + text.replace("\n", "\\n") + "'"
    return text


def show_row(row: tuple[Any, ...]) -> str:
    return " | ".join(show_value(v) for v in row)


def read_values(line: str) -> list[Any]:
    """The values of an offered row: numbers where they look like numbers, else text."""
    values: list[Any] = []
    for part in re.findall(r"\s*('[^']*'|[^|]*?)\s*(?:\||$)", line)[: line.count("|") + 1]:
        if part.startswith("'") and part.endswith("'") and len(part) > 1:
            values.append(part[1:-1])
        elif part == "NULL":
            values.append(None)
        elif part in ("true", "false"):
            values.append(part == "true")
        elif re.fullmatch(r"-?\d+", part):
            values.append(int(part))
        elif re.fullmatch(r"-?\d+\.\d+(e-?\d+)?|-?inf|nan", part):
            values.append(float(part))
        else:
            values.append(part)
    return values


# -- telling a story --------------------------------------------------------------------------------------------------


class Teller:
    """Carries out the steps of one story under one condition; `found` collects what came instead of each body."""

    def __init__(self, story: Story, condition: Condition, root: Path) -> None:
        self._story = story
        self._condition = condition
        self._clock = ManualClock(BEGIN)
        self._place = root / "pond"
        self._folder = root / "files"
        self._folder.mkdir()
        self.found: list[tuple[Step, list[str]]] = []
        self._positions: dict[str, int] = {}  # of the last result seen of each query, by its folder
        self._pond = self._open(create=True)
        self._reader = self._open(create=False) if condition.reader else None

    def _open(self, *, create: bool) -> Pond:
        settings: dict[str, Any] = {"auto_archive": False, "engine": "duckdb", "shards": self._condition.shards}
        settings |= self._story.settings
        return millpond.connect(self._place, create=create, clock=self._clock, **settings)

    def close(self) -> None:
        self._pond.close()
        if self._reader is not None:
            self._reader.close()

    def tell(self) -> None:
        for step in self._story.steps:
            if self._condition.no_index and re.match(r"(CREATE|DROP) INDEX", step.text) and step.kind == ">":
                continue
            self._take(step)
            self._clock.advance(1)
            if step.kind in ("?", "?~", "now", "changes", "changes~") or (
                step.kind == "!" and step.text.startswith(READS)
            ):
                continue  # nothing changed
            if self._condition.cold:
                self._pond.archive()
            if self._condition.restart:
                self._pond.close()
                self._pond = self._open(create=False)

    def _take(self, step: Step) -> None:
        action = {
            ">": self._tell, "?": self._ask, "?~": self._ask, "!": self._fail, "!feed": self._fail_feed,
            "!advance": self._fail_advance, "feed": self._feed, "advance": self._advance, "now": self._now,
            "file": self._file, "wait": self._wait, "tick": self._tick, "changes": self._changes,
            "changes~": self._changes,
        }[step.kind]  # fmt: skip
        action(step)

    def _sql(self, text: str) -> str:
        return text.replace("{folder}", str(self._folder))

    def _asked(self, text: str) -> Pond:
        reads = text.lstrip().upper().startswith(READS)
        return self._reader if self._reader is not None and reads else self._pond

    def _expect(self, step: Step, lines: list[str]) -> None:
        self.found.append((step, [line.replace(str(self._folder), "{folder}") for line in lines]))

    # one method for each kind of step

    def _tell(self, step: Step) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsRejected)
            message = self._pond.sql(self._sql(step.text)).message
        if step.body:
            self._expect(step, ["= " + line for line in message.splitlines()])

    def _ask(self, step: Step) -> None:
        result = self._asked(step.text).sql(self._sql(step.text))
        rows = [show_row(row) for row in result]
        if step.text.startswith("EXPLAIN"):  # names of files are random, sizes depend on the Parquet library
            rows = [
                re.sub(r"/\S+\.parquet", "/....parquet", re.sub(r"\b[1-9]\d* bytes", "some bytes", r)) for r in rows
            ]
        names = [": " + " | ".join(result.columns)] if step.body and step.body[0].startswith(": ") else []
        if step.kind == "?~":
            expected = [line for line in step.body if not line.startswith(": ")]
            if Counter(expected) == Counter(rows):
                rows = expected
        self._expect(step, names + rows)

    def _fail(self, step: Step) -> None:
        self._refused(step, [], lambda: self._asked(step.text).sql(self._sql(step.text)))

    def _refused(self, step: Step, before: list[str], action: Callable[[], object]) -> None:
        try:
            action()
        except MillpondError as error:
            self._expect(step, [*before, *str(error).splitlines()])
        else:
            self._expect(step, [*before, "(no error)"])

    def _feed(self, step: Step) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsRejected)
            self._offer(step, step.body)

    def _offer(self, step: Step, body: list[str]) -> None:
        name, _, named = step.text.partition(" ")
        rows: list[Any] = [tuple(read_values(line)) for line in body]
        if named:
            columns = [c.strip() for c in named.strip("() ").split(",")]
            rows = [dict(zip(columns, row, strict=True)) for row in rows]
        for offer in [[row] for row in rows] if self._condition.one_row else [rows]:
            self._pond.append(name, offer)
            if self._condition.one_row:
                self._pond.tick()

    def _fail_feed(self, step: Step) -> None:
        at = step.body.index("----")
        self._refused(step, step.body[: at + 1], lambda: self._offer(step, step.body[:at]))

    def _advance(self, step: Step) -> None:
        name, _, time = step.text.partition(" ")
        self._pond.advance(name, self._time(name, time))
        if self._condition.one_row:
            self._pond.tick()

    def _fail_advance(self, step: Step) -> None:
        name, _, time = step.text.partition(" ")
        self._refused(step, [], lambda: self._pond.advance(name, self._time(name, time)))

    def _time(self, name: str, text: str) -> Any:
        table = self._pond._workspace.catalog.relation(name)
        integer = isinstance(table, StreamingTable) and table.columns.find(table.time_column, name).type.is_integer
        return int(text) if integer and re.fullmatch(r"-?\d+", text) else text

    def _now(self, step: Step) -> None:
        self._expect(step, [show_value((self._reader or self._pond).now(step.text))])

    def _tick(self, step: Step) -> None:
        self._pond.tick()

    def _changes(self, step: Step) -> None:
        query = self._pond._workspace.catalog.query(step.text)
        after = self._positions.get(query.folder)
        results = (self._reader or self._pond).resume(step.text, after=after).fetch()
        self._positions[query.folder] = results.position
        sign = "-" if query.stream_operator == "dstream" else "+"
        names = results.columns[:-2]  # behind them the instant and the row number
        rows = [(f"{sign} {show_value(row[-2])}", show_row(row[:-2])) for row in results]
        if step.kind == "changes~":
            expected = [line.partition(" | ")[::2] for line in step.body if not line.startswith(": ")]
            if sorted(rows) == sorted(expected) and [r[0] for r in rows] == [r[0] for r in expected]:
                rows = expected
        header = [": " + " | ".join(names)] if step.body and step.body[0].startswith(": ") else []
        self._expect(step, header + [" | ".join(row) for row in rows])

    def _file(self, step: Step) -> None:
        part = self._folder.parent / "part"
        part.write_text("".join(line + "\n" for line in step.body))
        part.rename(self._folder / step.text)

    def _wait(self, step: Step) -> None:
        name, count = step.text.split()
        pause = threading.Event()
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            table = self._pond.status()["tables"][name]
            if table["accepted"] + table["late"] + table["malformed"] >= int(count):
                return
            pause.wait(0.01)
        pytest.fail(f"{name} has not got {count} rows after {PATIENCE:.0f} seconds")


def differs(story: Story, condition: Condition) -> bool:
    """Whether a story takes another course under a condition than as it is. If not, there is no use in telling it twice."""
    if condition.no_index:
        return any(s.kind == ">" and re.match("(CREATE|DROP) INDEX", s.text) for s in story.steps)
    if condition.reader:
        return any(s.kind in ("now", "changes", "changes~") or s.text.upper().startswith(READS) for s in story.steps)
    return True


def is_dear(number: int, story: Story, place: int) -> bool:
    """As it is each story is told always; under a third of the other conditions in turn. Those of continuous queries take seconds, and
    are told under a quarter; so do restarts after each step: one in six. The laws mix all of these conditions too. The paper's figure
    is told under each of them."""
    if place == 0 or "figure" in story.id:
        return False
    if CONDITIONS[place].restart:
        return (number + place) % 6 != 0
    return (number + place) % (4 if story.path.parent.name == "continuous" else 3) != 0


COURSES = [
    pytest.param(s, c, id=f"{s.id}-{c.name}", marks=pytest.mark.slow if is_dear(number, s, place) else [])
    for number, s in enumerate(STORIES)
    for place, c in enumerate(CONDITIONS)
    if differs(s, c)
]


@pytest.mark.parametrize(("story", "condition"), COURSES)
def test_story(story: Story, condition: Condition, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if condition.name in story.skipped:
        pytest.skip(story.skipped[condition.name])
    if condition.name in story.gaps:
        request.applymarker(pytest.mark.xfail(reason=story.gaps[condition.name], strict=True))
    teller = Teller(story, condition, tmp_path)
    try:
        teller.tell()
    finally:
        teller.close()
    if request.config.getoption("--rewrite"):
        if condition is CONDITIONS[0]:
            rewrite(story, teller.found)
        return
    wrong = wrong_answers(story, teller)
    if wrong:
        pytest.fail("\n\n".join(wrong), pytrace=False)


def wrong_answers(story: Story, teller: Teller) -> list[str]:
    """What came out otherwise than the story says."""
    return [
        f"{story.path.name}:{step.line}: {step.kind} {step.text}\n-- expected:\n{_lines(step.body)}\n-- found:\n{_lines(found)}"
        for step, found in teller.found
        if found != step.body
    ]


def _lines(lines: list[str]) -> str:
    return "\n".join(lines)


def rewrite(story: Story, found: list[tuple[Step, list[str]]]) -> None:
    """Put the answers found into the file; from the end, so that earlier places stay right."""
    lines = list(story.lines)
    for step, answer in reversed(found):
        if answer != step.body:
            lines[step.body_line : step.body_line + len(step.body)] = answer
    story.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_there_are_stories_enough() -> None:
    assert len(STORIES) >= 40
