"""One writer at a time. The lock is the operating system's (`flock`), so it ends with the process, however that ends.

The lock file also says who holds it, for the message to a second writer; that text has no other meaning.

Whoever only wants to know whether there is a writer must not get in the way of one. So the writer holds a lock on a
second file too, and the curious try that one: a writer who meets them waits for the moment they take.

People delete lock files that look left behind, and folders that are in use. The next process would lock a new file, so whoever
holds the old one must find out (`check`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys
import time
from pathlib import Path

from millpond.durable import disk_errors
from millpond.errors import PondError, SecondWriter
from millpond.process import ProcessBound

FILE = "writer.lock"
SIGN = "writer.sign"
_MOMENT = 5.0  # seconds; whoever only asks for a writer is done long before


class WriterLock(ProcessBound):
    def __init__(self, pond: Path) -> None:
        self._path = pond / FILE
        self._pond = pond
        self._handle: int | None = None
        self._sign: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def acquire(self) -> None:
        """Take the lock or raise `SecondWriter`, at once as a rule."""
        if self._handle is not None:
            return
        with disk_errors(self._path):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise self._second_writer() from error
        command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]
        who = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "command": command}).encode()
        opened = [handle]
        try:
            with disk_errors(self._path):
                opened.append(os.open(self._path.with_name(SIGN), os.O_RDWR | os.O_CREAT, 0o644))
                self._lock_sign(opened[1])
                os.ftruncate(handle, 0)
                os.pwrite(handle, who, 0)
        except BaseException:
            for each in opened:
                os.close(each)
            raise
        self._handle, self._sign = opened

    def _lock_sign(self, sign: int) -> None:
        """Lock the second file, when the curious have let it go. If it stays locked, a writer holds it: one whose first file was
        deleted."""
        end = time.monotonic() + _MOMENT
        while True:
            try:
                fcntl.flock(sign, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if time.monotonic() > end:
                    raise self._second_writer() from error
            time.sleep(0.001)

    def check(self) -> None:
        """Raise if the file of a lock that is held was deleted: a lock on it keeps nobody else from writing."""
        if self._handle is not None and os.fstat(self._handle).st_nlink == 0:
            raise PondError(
                f'"{self._path}" was deleted while the pond was open',
                detail="Another process may be writing the pond now, so this one no longer does.",
                hint="Close the pond and open it again, if its other files are still there.",
            )

    def _second_writer(self) -> SecondWriter:
        name = self._pond.name
        if _held_here(self._pond):
            return SecondWriter(
                f'pond "{name}" is being written by another Pond object of this process',
                hint="Use that object, which threads may share, or close it first.",
            )
        return SecondWriter(
            f'pond "{name}" is being written by another process',
            detail=holder(self._pond),
            hint="Stop that process first, or only read: any number of readers may open the pond.",
        )

    def release(self) -> None:
        for handle in self._take():
            fcntl.flock(handle, fcntl.LOCK_UN)  # a process that inherited the file must not keep it locked
            os.close(handle)

    def _leave_to_parent(self) -> None:
        """The lock belongs to the open file, which parent and child share: it ends when the last of them closes it, or
        when one of them unlocks it. So the child closes it and does not unlock it."""
        for handle in self._take():
            with contextlib.suppress(OSError):  # the parent was just closing it
                os.close(handle)

    def _take(self) -> list[int]:
        found = [handle for handle in (self._sign, self._handle) if handle is not None]
        self._sign = self._handle = None
        return found


def holder(pond: Path) -> str | None:
    """Who wrote the lock file last, in words."""
    try:
        who = json.loads((pond / FILE).read_text())
        return f"Process {who['pid']} on {who['host']} holds it: {who['command'] or 'unnamed'}."
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _held_here(pond: Path) -> bool:
    """Whether the lock file names this process."""
    try:
        who = json.loads((pond / FILE).read_text())
        return bool(who["pid"] == os.getpid() and who["host"] == socket.gethostname())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_written(pond: Path) -> bool:
    """Whether some process holds the writer lock now."""
    try:
        handle = os.open(pond / SIGN, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: the curious do not see each other
        return False
    except OSError:
        return True
    finally:
        os.close(handle)
