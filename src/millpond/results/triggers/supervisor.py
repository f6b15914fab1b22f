"""All triggers of a pond: which run, where each is, and their end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from millpond.catalog import Catalog, ContinuousQuery, Trigger
from millpond.clock import Clock
from millpond.results.outlet import Outlet
from millpond.results.triggers.runner import OPTIONS, TriggerOptions, TriggerRunner, TriggerState, read_reached
from millpond.sinks.base import Sink
from millpond.sinks.python import Call, Calling
from millpond.sinks.registry import open_sink


class ResultSource(Protocol):
    """Where triggers find what they hand on: the catalog, the outlets, and the condition that is notified of new results."""

    arrived: threading.Condition
    outlets: dict[str, Outlet]

    @property
    def catalog(self) -> Catalog:
        """The definitions as they are now."""


class Triggers:
    """The triggers of a pond. They run in the process that owns it; any process can ask how they are."""

    def __init__(self, results: ResultSource, folder: Path, clock: Clock, options: TriggerOptions = OPTIONS) -> None:
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
                    self._start(
                        trigger, self._file(trigger), partial(open_sink, trigger.kind, trigger.target, trigger.options)
                    )
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
            self._start(trigger, None, lambda: Calling(call))

    def remove(self, folder: str) -> int:
        """Drop those of a query that live in this process; returns how many there were."""
        with self._guard:
            names = [n for n, r in self._runners.items() if r.file is None and r.trigger.folder == folder]
            for name in names:
                self._discard(name)
        return len(names)

    def restart(self, folder: str, query: ContinuousQuery) -> None:
        """A query begins anew, with another folder than `folder`: those that live in this process go on with it."""
        with self._guard:
            for name, runner in list(self._runners.items()):
                if runner.file is None and runner.trigger.folder == folder:
                    self._discard(name)
                    self._start(replace(runner.trigger, folder=query.folder, start=0), None, runner.open_sink)

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

    def _start(self, trigger: Trigger, file: Path | None, opened: Callable[[], Sink]) -> None:
        runner = TriggerRunner(trigger, lambda: self._outlet(trigger), opened, file, self._clock, self._options)
        self._runners[trigger.name] = runner
        runner.start()

    def _discard(self, name: str) -> None:
        self._runners.pop(name).discard()
        self._wake()

    def _wake(self) -> None:
        with self._results.arrived:
            self._results.arrived.notify_all()

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
