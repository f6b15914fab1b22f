"""Every kind of window: what is written is read back, where it begins, and what the list of kinds promises."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from millpond.catalog import StreamingTable
from millpond.schema import Column, DataType, Schema
from millpond.sql.cursor import TokenCursor
from millpond.sql.dialect import tokenize
from millpond.windows.base import Window
from millpond.windows.interval import IntervalWindow
from millpond.windows.landmark import LandmarkWindow
from millpond.windows.newest import RowsWindow
from millpond.windows.now import NowWindow
from millpond.windows.registry import KINDS, read_window
from millpond.windows.since import SinceWindow
from millpond.windows.unbounded import UnboundedWindow

TABLE = StreamingTable(
    "s", Schema((Column("t", DataType("BIGINT")), Column("v", DataType("INT")))), "t", folder="s", shards=1
)
LENGTHS = some.integers(1, 10**12).map(lambda n: timedelta(microseconds=n))
NAMES = some.sampled_from(["vid", "now", "rows", "my vid", "interval", "ROWS", "a`b", "]"])
WINDOWS = some.one_of(
    some.just(NowWindow()),
    some.just(UnboundedWindow()),
    LENGTHS.map(IntervalWindow),
    LENGTHS.map(LandmarkWindow),
    some.integers(-(10**17), 10**17).map(SinceWindow),
    some.sampled_from(["2026-01-01", "it's", "a\\b", "]"]).map(SinceWindow),
    some.integers(1, 10**9).map(RowsWindow),
    some.builds(RowsWindow, some.integers(1, 9), some.lists(NAMES, min_size=1).map(tuple), some.none() | LENGTHS),
)


def read(written: str) -> Window:
    text = TokenCursor(written, tokenize(written))
    window = read_window(text)
    assert text.index == len(text.tokens)
    return window


@given(WINDOWS)
def test_a_written_window_is_read_back(window: Window) -> None:
    assert read(str(window)) == window


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.keyword)
def test_examples_of_a_kind_are_read_as_that_kind(kind: type[Window]) -> None:
    for example in kind.examples:
        window = read(example)
        assert type(window) is kind
        assert window.description


@given(
    some.one_of(*(WINDOWS.filter(lambda w: not isinstance(w, SinceWindow)), some.integers().map(SinceWindow))).filter(
        lambda w: w.length is None or not w.length.microseconds
    ),
    some.integers(-(10**9), 10**9),
    some.integers(0, 10**6),
)
def test_a_window_never_begins_earlier_than_before(window: Window, now: int, later: int) -> None:
    first, then = window.start(TABLE, now), window.start(TABLE, now + later)
    assert first is None or (then is not None and then >= first)
    assert first is None or not window.needs_now or first <= now


@pytest.mark.parametrize(
    ("window", "start"),
    [
        (NowWindow(), 125),
        (IntervalWindow(timedelta(seconds=60)), 65),
        (LandmarkWindow(timedelta(seconds=60)), 120),
        (SinceWindow(7), 7),
        (UnboundedWindow(), None),
        (RowsWindow(4), None),
        (RowsWindow(4, ("v",), timedelta(seconds=25)), 100),
    ],
)
def test_where_a_window_begins(window: Window, start: int | None) -> None:
    assert window.start(TABLE, 125) == start
    if window.needs_now:
        assert window.start(TABLE, None) is None


def test_a_length_must_be_given() -> None:
    for kind in (IntervalWindow, LandmarkWindow, RowsWindow, SinceWindow):
        with pytest.raises(TypeError):
            kind()
