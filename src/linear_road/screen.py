"""The live screen of a run: how far it is, whether the answers are in time, and what happens on the road.

`Seen` is what the screen shows, as plain values; `draw` lays it out for a terminal, `line` says the gist in one line for
output that is no terminal. `Watcher` makes both out of a run about once a second, and writes the state of the road down.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import millpond
from linear_road.answers import Responses
from linear_road.application import ANSWERS
from linear_road.progress import BETWEEN_LINES, say
from linear_road.records import EAST, SEGMENTS
from linear_road.road import Direction, Road
from linear_road.run import Moment, Run
from linear_road.survey import Facts
from linear_road.wording import counted

NAMES: Final = {0: "toll notifications", 1: "accident alerts", 2: "balances", 3: "expenditures", 4: "travel times"}
BETWEEN_LOOKS: Final = 1.0
MOST_STRIPS: Final = 6
LATELY_MINUTES: Final = 2
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_FULL_TOLL: Final = 300_000.0
"""The toll of a full bar: 437 cars. Bars grow with the root of the toll, that is, with the cars."""
_SLOW, _FAST = 20, 40
_LABEL: Final = 12


@dataclass(frozen=True)
class AnswerLine:
    """Answers of one type: so many, recent response times and those of the whole run, and those that were late."""

    name: str
    count: int
    mean: float
    most: float
    worst: float
    late: int
    limit: int


@dataclass(frozen=True)
class Asked:
    """A one-time question, its answer as text, and the milliseconds it took."""

    title: str
    answer: str
    millis: float


@dataclass(frozen=True)
class Seen:
    """What the screen shows."""

    facts: Facts
    speed: str
    handed: int
    answered: int
    tuples: int
    rate: float
    rates: tuple[float, ...]
    answers: tuple[AnswerLine, ...]
    tick: float
    behind: float
    cpu: float
    cores: int
    memory: float
    """Resident megabytes."""
    directions: dict[tuple[int, int], Direction] = field(default_factory=dict)
    asked: tuple[Asked, ...] = ()

    @property
    def tolled(self) -> int:
        """Segments that cost something."""
        return sum(int(np.count_nonzero(d.toll > 0)) for d in self.directions.values())

    @property
    def highest(self) -> int:
        return max((int(d.toll.max()) for d in self.directions.values()), default=0)

    @property
    def accidents(self) -> list[str]:
        return [f"{_name(place)} {seg}" for place, here in sorted(self.directions.items()) for seg in here.accidents]


# --- what is seen -----------------------------------------------------------------------------------------------------
def answer_line(kind: int, limit: int, responses: Responses) -> AnswerLine:
    recent = [responses.minutes[m] for m in sorted(responses.minutes)[-LATELY_MINUTES:]]
    count = sum(r[0] for r in recent)
    return AnswerLine(
        NAMES[kind],
        responses.count,
        sum(r[1] for r in recent) / count if count else 0.0,
        max((r[2] for r in recent), default=0.0),
        responses.most,
        int(responses.histogram[limit * 100 :].sum()),
        limit,
    )


class Asking(Protocol):
    """Somebody who asks one-time questions beside the run."""

    @property
    def asked(self) -> tuple[Asked, ...]: ...


class Watcher:
    """Give it to `Run.drive`. A context manager: on a terminal the screen is there while it is entered."""

    def __init__(self, console: Console, facts: Facts, asking: Asking | None = None) -> None:
        self._console = console
        self._facts = facts
        self._asking = asking
        self._live: Live | None = None
        self._road: Road | None = None
        self._looked = self._told = 0.0
        self._rates: list[float] = []
        self.seen: Seen | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif kind is None and self.seen is not None:
            self._console.print(draw(self.seen, self._console.width))
        if self._road is not None:
            self._road.close()

    def __call__(self, moment: Moment, run: Run) -> None:
        now = time.monotonic()
        if now - self._looked < BETWEEN_LOOKS:
            return
        self._looked = now
        self._check(run.db)
        if self._road is None:
            self._road = Road(run.db, run.config.out)
        self._road.look()
        self._rates = [*self._rates[-39:], moment.rate]
        self.seen = self._see(moment, run, self._road)
        if self._live is not None:
            self._live.update(draw(self.seen, self._console.width), refresh=True)
        elif now - self._told >= BETWEEN_LINES:
            self._told = now
            say(self._console, line(self.seen))

    def _check(self, db: millpond.Pond) -> None:
        """A pipeline that stopped would be waited for in vain."""
        state = db.status()
        pipeline = state["pipeline"]
        if pipeline and pipeline["state"] in ("stopped", "failed"):
            raise millpond.EngineError(f"the pipeline stopped: {pipeline['problem']}")
        for feed in state["feeds"].values():
            if feed["state"] == "failed":
                raise millpond.EngineError(f"the input is no longer read: {feed['problem']}")

    def _see(self, moment: Moment, run: Run, road: Road) -> Seen:
        assert run.writer is not None
        return Seen(
            facts=self._facts,
            speed=run.config.speed,
            handed=moment.handed,
            answered=moment.answered,
            tuples=moment.tuples,
            rate=moment.rate,
            rates=tuple(self._rates),
            answers=tuple(answer_line(a.type, a.limit, run.writer.responses[a.type]) for a in ANSWERS),
            tick=moment.tick,
            behind=moment.behind,
            cpu=moment.meters.get("cpu", 0.0),
            cores=os.cpu_count() or 1,
            memory=moment.meters.get("rss_mb", 0.0),
            directions=road.directions,
            asked=self._asking.asked if self._asking is not None else (),
        )


# --- how it is shown --------------------------------------------------------------------------------------------------
def draw(seen: Seen, width: int) -> Group:
    """The screen, no wider than `width`."""
    parts: list[Text | Table] = [*_head(seen, width), _answers(seen), *_strips(seen, width)]
    if seen.asked:
        parts.append(_questions(seen.asked, width))
    return Group(*parts)


def line(seen: Seen) -> str:
    """The gist in one line."""
    worst = max(seen.answers, key=lambda a: a.most / a.limit)
    parts = [
        f"simulated {clock(seen.handed)} ({share(seen):.0%})",
        f"{seen.rate:,.0f} tuples/s",
        counted(sum(a.count for a in seen.answers), "answer"),
        f"{worst.name} at most {worst.most:.2f} s recently (limit {worst.limit})",
        f"tick {seen.tick:.2f} s",
        f"{seen.cpu:.1f} of {counted(seen.cores, 'core')}",
        f"{seen.memory / 1000:.1f} GB",
        f"{counted(seen.tolled, 'segment')} with tolls",
    ]
    if seen.accidents:
        parts.append("accidents: " + " ".join(seen.accidents[:4]))
    if seen.behind > 1 and seen.speed != "max":
        parts.append(f"the driver is {seen.behind:.1f} s behind")
    return "; ".join(parts)


def clock(second: int) -> str:
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def share(seen: Seen) -> float:
    """How much of the simulated time is answered."""
    whole = max(seen.facts.last - seen.facts.first + 1, 1)
    return min(max((seen.answered - seen.facts.first) / whole, 0.0), 1.0)


def sparkline(values: Sequence[float]) -> str:
    """Values as little bars; the highest is full.

    >>> sparkline([0, 1, 2])
    '▁▄█'
    """
    most = max(values, default=0.0)
    return "".join(_LEVELS[round(v / most * (len(_LEVELS) - 1)) if most else 0] for v in values)


def _head(seen: Seen, width: int) -> list[Text]:
    speed = "as fast as it goes" if seen.speed == "max" else f"{seen.speed} x real time"
    long = max(10, min(40, width - 64))
    full = round(share(seen) * long)
    behind = seen.handed - seen.answered + 1
    title = Text(f"Linear Road, L = {seen.facts.xways:g}, {speed}   ", "bold")
    title.append(f"{clock(seen.handed)} ", "bold cyan")
    title.append("█" * full, "cyan").append("░" * (long - full), "dim").append(f" {share(seen):4.0%}")
    load = Text(f"{seen.rate:>8,.0f} tuples/s ").append(sparkline(seen.rates[-(width - 60) :]) or " ", "cyan")
    load.append(f" {seen.tuples:,} of {seen.facts.tuples:,}")
    late = seen.behind > 1 and seen.speed != "max"
    cost = Text(
        f"tick {seen.tick:.2f} s, CPU {seen.cpu:.1f} of {counted(seen.cores, 'core')}, "
        f"memory {seen.memory / 1000:.1f} GB, "
    )
    cost.append(f"answers {behind} s of traffic behind")
    if seen.speed != "max":
        cost.append(", driver ").append(
            f"{seen.behind:.1f} s behind" if late else "on time", "bold red" if late else "green"
        )
    return [title, load, cost]


def _answers(seen: Seen) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=False)
    table.add_column("response times (s)")
    for name in ("answers", "recent mean", "recent max", "max", "limit", "late"):
        table.add_column(name, justify="right")
    for a in seen.answers:
        style = "red" if a.most > a.limit else "yellow" if a.most > a.limit / 2 else "green"
        cells = [f"{a.mean:.2f}", Text(f"{a.most:.2f}", style), f"{a.worst:.2f}"] if a.count else ["-", "-", "-"]
        late = Text(f"{a.late:,}", "red" if a.late else "dim")
        table.add_row(a.name, f"{a.count:,}", *cells, str(a.limit), late)
    return table


def _strips(seen: Seen, width: int) -> list[Text]:
    """The road, a strip for each direction, segment 0 at the left."""
    per = 1 if width >= SEGMENTS + _LABEL else 2
    shown = sorted(seen.directions)[:MOST_STRIPS]
    texts = []
    for place in shown:
        text = Text(f"{_name(place):<{_LABEL}}")
        for seg in range(0, SEGMENTS, per):
            text.append(*_cell(seen.directions[place], slice(seg, seg + per)))
        texts.append(text)
    rest = len(seen.directions) - len(shown)
    told = f"tolls in {counted(seen.tolled, 'segment')}, up to {seen.highest:,}" if seen.tolled else "no tolls"
    told += f"; accidents: {', '.join(seen.accidents[:4]) or 'none'}"
    told += f"; {counted(rest, 'more direction')}" if rest else ""
    legend = "height: toll; red below 20 mph, green from 40; X accident; ! ahead"
    return [Text(told, overflow="ellipsis", no_wrap=True), *texts, Text(f"{'':<{_LABEL}}{legend}", "dim")]


def _cell(here: Direction, part: slice) -> tuple[str, str]:
    lav, toll, ahead = here.lav[part], here.toll[part], here.ahead[part]
    if (ahead == 0).any():
        return "X", "bold white on red"
    slowest = int(lav[lav >= 0].min()) if (lav >= 0).any() else -1
    colour = "dim" if slowest < 0 else "red" if slowest < _SLOW else "yellow" if slowest < _FAST else "green"
    if (ahead > 0).any():
        return "!", "bold magenta"
    highest = int(toll.max())
    if highest > 0:
        level = min(np.sqrt(highest / _FULL_TOLL), 1.0) * (len(_LEVELS) - 1)
        return _LEVELS[round(level)], colour
    return ("·" if slowest >= 0 else " "), colour


def _name(place: tuple[int, int]) -> str:
    return f"{place[0]} {'east' if place[1] == EAST else 'west'}"


def _questions(asked: Sequence[Asked], width: int) -> Table:
    grid = Table.grid()
    wide = width // len(asked)
    grid.add_row(
        *(
            Panel(Text(a.answer, no_wrap=True, overflow="crop"), title=f"{a.title}: {a.millis:.0f} ms", width=wide)
            for a in asked
        )
    )
    return grid
