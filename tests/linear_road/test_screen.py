"""The live screen: what it shows of a run, that it fits, and what is said where there is no terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from linear_road import screen
from linear_road.answers import Responses
from linear_road.road import Direction, Road
from linear_road.screen import Asked, Seen
from linear_road.survey import Facts


def directions() -> dict[tuple[int, int], Direction]:
    east, west = Direction(), Direction()
    east.lav[:], east.toll[:] = 50, 0
    east.toll[10:20], east.lav[10:20] = 300_000, 15
    west.lav[:], west.toll[:] = 60, 0
    west.ahead[55:60] = range(5)
    return {(0, 0): east, (0, 1): west}


def seen() -> Seen:
    answers = tuple(
        screen.AnswerLine(name, 1_234_567, 0.61, 1.02 if kind else 6.5, 6.5, 12, limit)
        for (kind, name), limit in zip(screen.NAMES.items(), (5, 5, 5, 10, 30), strict=True)
    )
    return Seen(
        facts=Facts(12_345_678, 12_000_000, 0, 10_799, 1.0),
        speed="6",
        handed=8130,
        answered=8129,
        tuples=8_123_456,
        rate=9876.5,
        rates=(1.0, 2.0, 4.0, 8.0) * 10,
        answers=answers,
        tick=0.41,
        behind=0.02,
        cpu=1.7,
        cores=2,
        memory=2345.0,
        directions=directions(),
        asked=(Asked("slowest, last minute", "seg mph\n 55 3.1", 12.3), Asked("who owes most", "vid\n  7", 8.0)),
    )


def shown(value: Seen, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, color_system=None)
    console.print(screen.draw(value, width))
    return console.export_text().splitlines()


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_it_fits_the_terminal(width: int) -> None:
    lines = shown(seen(), width)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for part in ("L = 1", "6 x real time", "02:15:30", "75%", "8,123,456 of 12,345,678", "tick 0.41 s", "on time"):
        assert part in text
    for name in screen.NAMES.values():
        assert sum(line.startswith(name) for line in lines) == 1
    assert "slowest, last minute: 12 ms" in text
    assert "tolls in 10 segments, up to 300,000; accidents: 0 west 55" in text


def test_the_strips_have_a_cell_a_segment_where_there_is_room() -> None:
    lines = shown(seen(), 120)
    east, west = (next(line[12:] for line in lines if line.startswith(f"0 {name}")) for name in ("east", "west"))
    assert east == "·" * 10 + "█" * 10 + "·" * 80
    assert west == "·" * 55 + "X!!!!" + "·" * 40


def test_on_a_narrow_terminal_a_cell_is_two_segments_and_no_accident_is_lost() -> None:
    lines = shown(seen(), 80)
    west = next(line[12:] for line in lines if line.startswith("0 west"))
    assert west == "·" * 27 + "X!!" + "·" * 20


def test_a_driver_behind_is_told() -> None:
    late = replace(seen(), behind=3.2)
    assert "driver 3.2 s behind" in "\n".join(shown(late, 120))
    assert screen.line(late).endswith("the driver is 3.2 s behind")
    assert "behind" not in screen.line(replace(late, speed="max"))


def test_the_line_tells_the_answers_nearest_to_their_limit() -> None:
    text = screen.line(seen())
    assert text.startswith(
        "simulated 02:15:30 (75%); 9,876 tuples/s; 6,172,835 answers; toll notifications at most 6.50 s"
    )
    assert "accidents: 0 west 55" in text


def test_lately_is_the_last_two_minutes_and_late_is_beyond_the_limit() -> None:
    responses = Responses()
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, 600, 500)).astype(np.int64)
    took = rng.uniform(0, 8, 500)
    responses.take(times, took)
    found = screen.answer_line(2, 5, responses)
    last = times // 60 >= 8
    assert found.count == 500
    assert found.mean == pytest.approx(took[last].mean())
    assert found.most == took[last].max()
    assert found.worst == took.max()
    assert abs(found.late - np.count_nonzero(took > 5)) <= np.count_nonzero(np.abs(took - 5) < 0.01)


def test_before_any_answer_there_are_no_figures() -> None:
    nothing = replace(
        seen(), answers=tuple(screen.answer_line(k, 5, Responses()) for k in screen.NAMES), directions={}, asked=()
    )
    assert "no tolls; accidents: none" in "\n".join(shown(nothing, 80))


class NoCursor:
    """Stands for a pond: `Road.take` is given its rows by the test."""

    def resume(self, query: str) -> None:
        assert query == "conditions"


def test_the_road_keeps_the_newest_minute_and_writes_all_down(tmp_path: Path) -> None:
    road = Road(NoCursor(), tmp_path)  # type: ignore[arg-type]
    road.take([[60, 60, 120], [0, 0, 0], [1, 1, 1], [7, 8, 8], [30, 31, 32], [0, 98, 200], [0, None, None]])
    road.take([[120, 120], [0, 0], [1, 1], [-1, 100], [0, 0], [0, 0], [1, 1]])  # beyond the ends
    assert road.directions[0, 1].lav[99] == -1
    road.close()
    assert road.minute == 2
    here = road.directions[0, 1]
    assert (here.lav[8], here.toll[8], here.ahead[8], here.lav[7]) == (32, 200, -1, -1)
    assert here.accidents == []
    assert (tmp_path / "road.csv").read_text() == (
        "minute,xway,dir,seg,lav,toll,ahead\n1,0,1,7,30,0,0\n1,0,1,8,31,98,\n2,0,1,8,32,200,\n"
    )
