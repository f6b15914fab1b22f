"""Rows that other processes hand over, taken by the process that writes the pond for as long as it does.

A thread waits for requests: it is woken by whoever makes one (see `results.news`), and looks for itself now and then, because a
process on another machine cannot wake it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import TYPE_CHECKING

from millpond.errors import MillpondError, PondError
from millpond.ingest.handover import Incoming
from millpond.ingest.intake import Intake
from millpond.results.news import News, ring

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace

_LOOK = 1.0  # seconds
_log = logging.getLogger("millpond")


class IncomingRows:
    """Started when a process becomes the writer of a pond, closed with the pond."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._incoming = Incoming(workspace.folder)
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take what waits, and from now on what comes."""
        self._thread = threading.Thread(target=self._run, name="millpond-incoming", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """After the request under way."""
        self._closed.set()
        if self._thread is not None:
            ring(self._incoming.folder)
            if self._thread is not threading.current_thread():
                self._thread.join(timeout=60)

    def _run(self) -> None:
        news = News(self._incoming.folder)
        try:
            self._incoming.sweep(self._workspace.clock.micros() / 1e6)
            while not self._closed.is_set():
                there = self._incoming.folder.is_dir()  # whoever hands over first makes it
                if there:
                    news.clear()
                try:
                    self._take_all()
                except (MillpondError, OSError) as error:  # a full disk, say: asked again at the next look
                    _log.warning("rows that were handed over cannot be taken now: %s", error)
                if there:
                    news.wait(_LOOK)
                else:
                    self._closed.wait(_LOOK)
        finally:
            with contextlib.suppress(OSError):
                news.close()

    def _take_all(self) -> None:
        for id in self._incoming.waiting():
            if self._closed.is_set():
                return
            self._incoming.take(id, self._intake_in, self._closed.is_set)

    def _intake_in(self, folder: str) -> Intake:
        for table in self._workspace.catalog.streaming.values():
            if table.folder == folder:
                return self._workspace.intake(table.name)
        raise PondError("the table that rows were written to was dropped")
