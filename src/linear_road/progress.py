"""How far something is, for somebody who waits: a bar on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

BETWEEN_LINES: Final = 5.0


def say(console: Console, text: str) -> None:
    """Text as it is, not broken to the width of the console."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


class Bars:
    """A bar for each thing that is done; one at a time moves."""

    def __init__(self, console: Console, between: float = BETWEEN_LINES) -> None:
        self._console = console
        self._between = between
        self._told = time.monotonic()
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        if console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[detail]}"),
                TimeElapsedColumn(), console=console,
            )  # fmt: skip

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            if kind is None:
                for task in self._tasks.values():
                    self._bars.update(task, completed=1.0)
            self._bars.stop()

    def move(self, what: str, share: float, detail: str = "") -> None:
        """`what` is done to this share, from 0 to 1."""
        if self._bars is None:
            if time.monotonic() - self._told >= self._between:
                self._told = time.monotonic()
                say(self._console, f"{what}: {share:.0%}" + (f", {detail}" if detail else ""))
            return
        if what not in self._tasks:
            for task in self._tasks.values():
                self._bars.update(task, completed=1.0)
            self._tasks[what] = self._bars.add_task(what, total=1.0, detail=detail)
        self._bars.update(self._tasks[what], completed=share, detail=detail)
