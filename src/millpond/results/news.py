"""News: how a process that does not write a pond learns at once that there are results.

The writer sets the time of the folder of the result log when a frame is durable. On Linux a reader is woken by that (inotify);
elsewhere, and where the folder cannot be watched, it looks at that time every few milliseconds. Neither reads the log.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import sys
import time
from pathlib import Path

_ATTRIB = 0x4  # IN_ATTRIB, of inotify(7)
_LOOK = 0.005  # seconds between looks at a folder that cannot be watched
_ABSENT = 0.05  # while there is no folder yet


def ring(folder: Path) -> None:
    """As the writer: wake whoever waits. What is durable is durable, also where the folder's time cannot be set."""
    with contextlib.suppress(OSError):
        os.utime(folder)


class News:
    """Of one folder; used by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._watch: int | None = None
        self._seen = -1  # the time of the folder, where it cannot be watched

    def clear(self) -> None:
        """Whoever calls this looks at the log next: what came before is no news any more."""
        if self._watch is None:
            self._watch = _watch(self._folder)
            self._seen = self._time()
        else:
            _drain(self._watch)

    def wait(self, seconds: float) -> None:
        """Wait for news since the last `clear`, at most so long."""
        if self._watch is not None:
            select.select([self._watch], [], [], seconds)
            return
        end = time.monotonic() + seconds
        while self._time() == self._seen and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK if self._seen >= 0 else _ABSENT))

    def _time(self) -> int:
        try:
            return os.stat(self._folder).st_mtime_ns
        except OSError:
            return -1

    def close(self) -> None:
        """Stop watching."""
        watch, self._watch = self._watch, None
        if watch is not None:
            os.close(watch)

    def __del__(self) -> None:
        self.close()


def _watch(folder: Path) -> int | None:
    """What becomes readable when the folder's time is set, if it can be watched."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    handle: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if handle < 0:
        return None
    if library.inotify_add_watch(handle, os.fsencode(folder), _ATTRIB) < 0:
        os.close(handle)
        return None
    return handle


def _drain(handle: int) -> None:
    try:
        while os.read(handle, 65_536):
            pass
    except BlockingIOError:
        pass
