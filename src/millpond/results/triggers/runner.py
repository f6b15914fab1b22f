"""One trigger at work: it hands each result row of a query to a sink, in order and at least once.

Idea. A trigger is one more reader of its query's results, and like every reader it knows only the number of the next row.
A thread of its own takes rows, sends them, and writes that number down after them. When sending fails, the sink is opened
anew and the rows are sent again, after a pause that grows; meanwhile only this trigger waits. Rows are numbered for ever, so
`<query folder>:<number>` is the same id whenever a row comes again.

Invariant. The number in a trigger's file is not beyond any row that has not arrived, but for those counted as `missed`: they
had left the kept results before the trigger came to them. So a crash repeats rows and never skips one.

File format: `triggers/<trigger>.json` holds {"next", "missed", "problem"} and a checksum, and is replaced as a whole.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from pathlib import Path

import pyarrow as pa

from millpond.catalog import INSTANT, ContinuousQuery, Trigger
from millpond.clock import Clock
from millpond.durable import make_folder
from millpond.errors import CatalogError, MillpondError
from millpond.results.outlet import Outlet
from millpond.schema import SEQ
from millpond.sealed import read_sealed, write_sealed
from millpond.sinks.base import Event, Sink, SinkFailed

OWN_KEYS = ("id", "query")


@dataclass(frozen=True)
class TriggerOptions:
    """Failed rows are sent again after `first_pause`, then after twice as long each time, up to `longest_pause`. `most` is
    how many rows are taken from the results at once, `save` how long rows are sent before the position is written."""

    first_pause: timedelta = timedelta(milliseconds=100)
    longest_pause: timedelta = timedelta(minutes=1)
    most: int = 1000
    save: timedelta = timedelta(seconds=1)


OPTIONS = TriggerOptions()
_WAIT = 0.5  # seconds between looks whether to stop


@dataclass(frozen=True)
class Reached:
    """How far a trigger is: `next` is the number of the next row, `missed` how many rows were gone before it came to them.

    `problem` is why the last call failed, None once one succeeds; `tries` counts the failures since the last success.
    """

    next: int
    missed: int = 0
    problem: str | None = None
    tries: int = 0


@dataclass(frozen=True)
class TriggerState:
    """What SHOW TRIGGERS tells. `lag` is how many results wait; `sent` how many calls succeeded, each row counted once."""

    trigger: Trigger
    reached: Reached
    lag: int

    @property
    def sent(self) -> int:
        return self.reached.next - self.trigger.start - self.reached.missed


def events(query: ContinuousQuery, rows: pa.Table) -> list[Event]:
    """Result rows as they are handed out."""
    found = []
    for row in rows.to_pylist():
        number, instant = row.pop(SEQ), row.pop(INSTANT)
        found.append({"id": f"{query.folder}:{number}", "query": query.name, INSTANT: instant, **row})
    return found


def check_columns(query: ContinuousQuery) -> None:
    """A result that goes to a trigger has no column that is called like what the trigger adds."""
    for column in query.columns:
        if column.name.lower() in OWN_KEYS:
            raise CatalogError(
                f'query "{query.name}" has a column "{column.name}", which a trigger cannot hand out',
                detail=f'"{OWN_KEYS[0]}" and "{OWN_KEYS[1]}" are added by the trigger itself.',
                hint="Give the column another name: SELECT ... AS <name>.",
            )


def batched(rows: Iterable[Event], size: int) -> Iterator[list[Event]]:
    """The rows in lists of at most `size`."""
    left = iter(rows)
    while found := list(islice(left, size)):
        yield found


def read_reached(file: Path, trigger: Trigger) -> Reached:
    """What a trigger's file says; without one it has not begun. A damaged one lets it begin again: rows repeat."""
    try:
        data = read_sealed(file)
        return Reached(int(data["next"]), int(data["missed"]), data["problem"])
    except FileNotFoundError:
        return Reached(trigger.start)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Reached(trigger.start, problem=f"its position cannot be read, so results are sent again: {error}")


class TriggerRunner:
    """Runs one trigger. `outlet` gives the results while the query exists; without a `file` nothing outlives the process.

    `open_sink` gives the sink; it is called in the trigger's thread, and again after a failure.
    """

    def __init__(
        self,
        trigger: Trigger,
        outlet: Callable[[], Outlet | None],
        open_sink: Callable[[], Sink],
        file: Path | None,
        clock: Clock,
        options: TriggerOptions = OPTIONS,
    ) -> None:
        self.trigger = trigger
        self.file = file
        self._outlet = outlet
        self.open_sink = open_sink
        self._clock = clock
        self._options = options
        self._sink: Sink | None = None
        self._stop = threading.Event()
        self._saving = threading.Lock()
        self._over = False  # guarded by `_saving`: the file is no longer ours
        self.reached = Reached(trigger.start) if file is None else read_reached(file, trigger)
        self._saved = self.reached
        self._thread = threading.Thread(target=self._run, name=f"trigger {trigger.name}", daemon=True)

    def start(self) -> None:
        """Begin; once only."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """End after the rows being sent."""
        self._stop.set()

    def stop(self, timeout: float) -> None:
        """End; a call that takes longer than `timeout` seconds is left alone and counts as not made."""
        self._stop.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        with self._saving:
            self._over = True

    def discard(self) -> None:
        """The trigger is dropped: its file goes. Does not wait for a call under way."""
        self._stop.set()
        with self._saving:
            self._over = True
            if self.file is not None:
                self.file.unlink(missing_ok=True)

    # -- the trigger's thread ---------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = self._options.first_pause
        failed_at = -1
        while not self._stop.is_set():
            try:
                self._round()
            except (Exception, SystemExit) as error:
                if self.reached.next != failed_at:
                    failed_at, pause = self.reached.next, self._options.first_pause
                self._close()
                self.reached = replace(self.reached, problem=_told(error), tries=self.reached.tries + 1)
                self._try_to_save()
                self._stop.wait(pause.total_seconds())
                pause = min(pause * 2, self._options.longest_pause)
        self._close()
        self._try_to_save()

    def _round(self) -> None:
        """Hand out what is there, or wait for a while."""
        outlet = self._outlet()
        if outlet is None:
            self._stop.wait(_WAIT)
            return
        self._skip_to(outlet.first)
        rows = outlet.fetch(self.reached.next, self._options.most)
        if not rows.num_rows:
            self._save()
            outlet.wait(self.reached.next, _WAIT)
            return
        self._skip_to(rows.column(SEQ)[0].as_py())
        if self._sink is None:
            self._sink = self.open_sink()
        since = self._clock.monotonic()
        for sent in batched(events(outlet.query, rows), self._sink.batch):
            if self._stop.is_set():
                return
            for event in sent:
                self._sink.send(event)
            self._sink.flush()
            self.reached = replace(self.reached, next=self.reached.next + len(sent), problem=None, tries=0)
            if self._clock.monotonic() - since >= self._options.save.total_seconds():
                self._save()
                since = self._clock.monotonic()
        self._save()

    def _close(self) -> None:
        """Close the sink; what it cannot close is the sink's own mistake, and the next one is opened anyway."""
        sink, self._sink = self._sink, None
        if sink is not None:
            with contextlib.suppress(Exception):
                sink.close()

    def _skip_to(self, number: int) -> None:
        """Results before `number` are not kept any more: tell how many were not handed out."""
        gone = number - self.reached.next
        if gone > 0:
            self.reached = replace(self.reached, next=number, missed=self.reached.missed + gone)

    def _save(self) -> None:
        reached = replace(self.reached, tries=0)
        with self._saving:
            if self.file is None or self._over or reached == self._saved:
                return
            data = {"next": reached.next, "missed": reached.missed, "problem": reached.problem}
            make_folder(self.file.parent)
            write_sealed(self.file, data)
            self._saved = reached

    def _try_to_save(self) -> None:
        """What cannot be written now is written later; until then a crash repeats more."""
        with contextlib.suppress(MillpondError, OSError):
            self._save()


def _told(error: BaseException) -> str:
    text = error.primary if isinstance(error, MillpondError) else str(error)
    first = (text.splitlines() or [""])[0]
    if isinstance(error, (SinkFailed, MillpondError)):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
