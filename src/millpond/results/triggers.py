"""Triggers: each result row of a query is posted to an address or given to a callable, in order and at least once.

Idea. A trigger is one more reader of its query's results, and like every reader it knows only the number of the next row.
A thread of its own takes rows, makes the calls, and writes that number down after them. A call that fails is made again
after a pause that grows; meanwhile only this trigger waits. Rows are numbered for ever, so `<query folder>:<number>` is
the same id whenever a row comes again.

Invariant. The number in a trigger's file is not beyond any row whose call has not succeeded, but for those counted as
`missed`: they had left the kept results before the trigger came to them. So a crash repeats calls and never skips one.

File format: `triggers/<trigger>.json` holds {"next", "missed", "problem"} and a checksum, and is replaced as a whole.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pyarrow as pa

from millpond.catalog import INSTANT, Catalog, ContinuousQuery, Trigger
from millpond.clock import Clock
from millpond.durable import make_folder
from millpond.errors import CatalogError, MillpondError, UnknownName
from millpond.results.outlet import Outlet
from millpond.schema import SEQ
from millpond.sealed import read_sealed, write_sealed

Event = dict[str, Any]  # a result row: "id", "query", "instant" and the columns
Call = Callable[[Event], object]
OWN_KEYS = ("id", "query")


@dataclass(frozen=True)
class TriggerOptions:
    """A failed call is made again after `first_pause`, then twice as long each time, up to `longest_pause`. `timeout` is
    how long an address may be silent, `most` how many rows are taken at once, `save` how long calls go on unwritten."""

    first_pause: timedelta = timedelta(milliseconds=100)
    longest_pause: timedelta = timedelta(minutes=1)
    timeout: timedelta = timedelta(seconds=10)
    most: int = 1000
    save: timedelta = timedelta(seconds=1)


_OPTIONS = TriggerOptions()
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


# -- what is called -----------------------------------------------------------------------------------------------------


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


def check_address(address: str) -> None:
    """Refuse what nothing can be posted to."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        good = good and (parts.port is None or parts.port > 0) and address.isascii() and address.isprintable()
        good = good and " " not in address
    except ValueError:
        good = False
    if not good:
        raise CatalogError(
            f'"{address}" is not an address to post to', hint="Write http://<host>[:<port>]/<path>, or https://..."
        )


def find_callable(target: str) -> Call:
    """The callable named `<module>:<function>`."""
    module, _, path = target.partition(":")
    if not module or not path:
        raise CatalogError(
            f'"{target}" does not name a callable', hint="Write '<module>:<function>', for example 'alarms:ring'."
        )
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            hint = "Install it, or put its folder on PYTHONPATH of the process that owns the pond."
            raise UnknownName("module", missing, hint=hint) from error
        detail = f"{type(error).__name__}: {error}"
        raise CatalogError(f'module "{module}" cannot be imported', detail=detail) from error
    for name in path.split("."):
        if not hasattr(found, name):
            there = [n for n in dir(found) if callable(getattr(found, n, None)) and not n.startswith("_")]
            raise UnknownName("callable", path, there, where=f' in module "{module}"')
        found = getattr(found, name)
    if not callable(found):
        raise CatalogError(f'"{target}" is not callable', detail=f"It is of type {type(found).__name__}.")
    call: Call = found
    return call


class CallFailed(Exception):
    """A call did not succeed, in words for SHOW TRIGGERS."""


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST would become a GET: tell the redirect instead of following it."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Post:
    """Posts an event as JSON. Any 2xx answer is success."""

    def __init__(self, address: str, timeout: timedelta = _OPTIONS.timeout) -> None:
        self._address = address
        self._timeout = timeout.total_seconds()
        self._opener = build_opener(_NoRedirect)

    def __call__(self, event: Event) -> None:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": quote(event["id"], safe=":"),
            "User-Agent": "millpond",
        }
        request = Request(self._address, data=to_json(event), headers=headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout):
                pass
        except HTTPError as error:
            error.close()
            raise CallFailed(f"{self._address} answered {error.code} {error.reason}".rstrip()) from error
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise CallFailed(f"{self._address} could not be posted to: {reason or type(error).__name__}") from error


def to_json(event: Event) -> bytes:
    """Dates and times in ISO 8601, decimals as text, bytes in base64; a number that JSON does not have as its name.

    >>> to_json({"a": float("inf"), "b": b"x", "c": date(2026, 1, 31)})
    b'{"a": "Infinity", "b": "eA==", "c": "2026-01-31"}'
    """
    return json.dumps({k: _plain(v) for k, v in event.items()}, default=str, ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, date):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


# -- one trigger at work ------------------------------------------------------------------------------------------------


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

    `find` gives what to call; it is asked in the trigger's thread and again after a failure, for a module may be repaired.
    """

    def __init__(
        self,
        trigger: Trigger,
        outlet: Callable[[], Outlet | None],
        find: Callable[[], Call],
        file: Path | None,
        clock: Clock,
        options: TriggerOptions = _OPTIONS,
    ) -> None:
        self.trigger = trigger
        self.file = file
        self._outlet = outlet
        self._find = find
        self._clock = clock
        self._options = options
        self._call: Call | None = None
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
        """End after the call under way."""
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
                self._call = None
                self.reached = replace(self.reached, problem=_told(error), tries=self.reached.tries + 1)
                self._try_to_save()
                self._stop.wait(pause.total_seconds())
                pause = min(pause * 2, self._options.longest_pause)
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
        if self._call is None:
            self._call = self._find()
        since = self._clock.monotonic()
        for event in events(outlet.query, rows):
            if self._stop.is_set():
                return
            self._call(event)
            self.reached = replace(self.reached, next=self.reached.next + 1, problem=None, tries=0)
            if self._clock.monotonic() - since >= self._options.save.total_seconds():
                self._save()
                since = self._clock.monotonic()
        self._save()

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
    if isinstance(error, (CallFailed, MillpondError)):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


# -- all triggers of a pond ---------------------------------------------------------------------------------------------


class Results(Protocol):
    """Where triggers find what they hand on: the catalog, the outlets, and the condition that is notified of new results."""

    arrived: threading.Condition
    outlets: dict[str, Outlet]

    @property
    def catalog(self) -> Catalog:
        """The definitions as they are now."""


class Triggers:
    """The triggers of a pond. They run in the process that owns it; any process can ask how they are."""

    def __init__(self, results: Results, folder: Path, clock: Clock, options: TriggerOptions = _OPTIONS) -> None:
        self._results = results
        self._folder = folder
        self._clock = clock
        self._options = options
        self._guard = threading.Lock()
        self._runners: dict[str, TriggerRunner] = {}
        self._made = 0  # of those that live in this process only
        self._begun = False

    def sync(self) -> None:
        """As the owner: run the triggers of the catalog, and no others but those of this process."""
        catalog = self._results.catalog
        live = {q.folder for q in catalog.queries.values()}
        with self._guard:
            for name, runner in list(self._runners.items()):
                if runner.trigger.folder not in live or (runner.file is not None and name not in catalog.triggers):
                    self._discard(name)
            for trigger in catalog.triggers.values():
                if trigger.name not in self._runners:
                    self._start(trigger, self._file(trigger), partial(self._target, trigger))
            if not self._begun:
                self._delete_strays(set(catalog.triggers))
            self._begun = True

    def add(self, query: ContinuousQuery, start: int, call: Call) -> None:
        """A trigger that lives as long as this process."""
        named = getattr(call, "__qualname__", type(call).__qualname__)
        with self._guard:
            self._made += 1
            target = f"{getattr(call, '__module__', '')}:{named}"
            trigger = Trigger(f"here-{self._made}", query.name, query.folder, "callable", target, start)
            self._start(trigger, None, lambda: call)

    def remove(self, folder: str) -> int:
        """Drop those of a query that live in this process; returns how many there were."""
        with self._guard:
            names = [n for n, r in self._runners.items() if r.file is None and r.trigger.folder == folder]
            for name in names:
                self._discard(name)
        return len(names)

    def states(self) -> list[TriggerState]:
        """How each trigger is: from its thread, or from its file when it runs elsewhere."""
        with self._guard:
            known = {n: (r.trigger, r.reached) for n, r in self._runners.items()}
        for trigger in self._results.catalog.triggers.values():
            if trigger.name not in known:
                known[trigger.name] = trigger, read_reached(self._file(trigger), trigger)
        found = []
        for trigger, reached in known.values():
            outlet = self._outlet(trigger)
            found.append(TriggerState(trigger, reached, max(0, outlet.next - reached.next) if outlet else 0))
        return found

    def close(self, timeout: float = 10.0) -> None:
        """Stop all; together they may take `timeout` seconds."""
        with self._guard:
            runners, self._runners = list(self._runners.values()), {}
        for runner in runners:
            runner.ask_to_stop()
        self._wake()
        limit = time.monotonic() + timeout
        for runner in runners:
            runner.stop(max(0.0, limit - time.monotonic()))

    def _start(self, trigger: Trigger, file: Path | None, find: Callable[[], Call]) -> None:
        runner = TriggerRunner(trigger, lambda: self._outlet(trigger), find, file, self._clock, self._options)
        self._runners[trigger.name] = runner
        runner.start()

    def _discard(self, name: str) -> None:
        self._runners.pop(name).discard()
        self._wake()

    def _wake(self) -> None:
        with self._results.arrived:
            self._results.arrived.notify_all()

    def _target(self, trigger: Trigger) -> Call:
        return Post(trigger.target, self._options.timeout) if trigger.kind == "post" else find_callable(trigger.target)

    def _outlet(self, trigger: Trigger) -> Outlet | None:
        found = self._results.outlets.get(trigger.query)
        return found if found is not None and found.query.folder == trigger.folder else None

    def _file(self, trigger: Trigger) -> Path:
        return self._folder / f"{trigger.name}.json"

    def _delete_strays(self, names: set[str]) -> None:
        """Files of triggers that were dropped just before a crash."""
        for path in self._folder.glob("*.json") if self._folder.is_dir() else ():
            if path.name.removesuffix(".json") not in names:
                path.unlink(missing_ok=True)
