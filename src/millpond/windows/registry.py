"""The kinds of windows, and how one is read: `[ ... ]` behind a table's name."""

from __future__ import annotations

from millpond.errors import nearest
from millpond.windows.base import Window, WindowText
from millpond.windows.before import BeforeWindow
from millpond.windows.interval import IntervalWindow
from millpond.windows.landmark import LandmarkWindow
from millpond.windows.newest import RowsWindow
from millpond.windows.now import NowWindow
from millpond.windows.since import SinceWindow
from millpond.windows.span import SpanWindow
from millpond.windows.unbounded import UnboundedWindow

KINDS: tuple[type[Window], ...] = (
    *(NowWindow, UnboundedWindow, BeforeWindow, IntervalWindow, LandmarkWindow, SinceWindow, SpanWindow),
    RowsWindow,  # last: it may begin with any word, the name of a column
)


def read_window(text: WindowText) -> Window:
    """The window here, brackets included. Raises a `SqlSyntaxError` that shows the place."""
    text.expect("[")
    for kind in KINDS:
        if kind.begins(text):
            window = kind.read(text)
            text.expect("]")
            return window
    examples = [example for kind in KINDS for example in kind.examples]
    hint = f"Write {', '.join(examples[:-1])} or {examples[-1]}."
    if not text.at_word() and not text.at_quoted_name():
        raise text.unexpected("a window", hint=hint)
    columns = text.names("column")
    close = nearest(columns[-1], [kind.keyword for kind in KINDS])
    raise text.unexpected('"," or ROWS', hint=f'Did you mean "{close}"?' if close else hint)
