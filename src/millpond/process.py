"""Objects that belong to the process that made them.

A fork copies the memory of a process but not its threads, and both sides share open files and the locks on them. A pond
that a forked child goes on using would number rows that its parent numbers too, wait for locks whose threads do not exist,
and crash in the destructor of DuckDB.

Idea. No method checks anything. A hook runs in every forked child before any other code of it, and changes the class of
each living `ProcessBound` object to one that refuses: every use raises `ForkedPond`. That costs a call nothing, no method
can forget it, and it reaches bound methods and generators that were made before the fork. `close` and `release` do nothing
there, so that a `with` can be left.

Invariants
 1. In a child, an inherited object does nothing to the parent: it holds none of its locks, and its files stay as they are.
 2. In a child, an inherited object is never destroyed. DuckDB would join threads that are not there (a crash), and
    py4j would close connections that the parent is using.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import sys
import weakref
from typing import Any, NoReturn, Self

from millpond.errors import ForkedPond, PondError

_HARMLESS = {"close", "release"}
_living: weakref.WeakSet[ProcessBound] = weakref.WeakSet()
_process = os.getpid()
_inherited = False


class ProcessBound:
    """Base of classes whose objects work only in the process that made them."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        _living.add(self)
        return self

    def _leave_to_parent(self) -> None:
        """Called once in a forked child, before this object is disabled: let go of what both processes share.

        Runs while the child is being made: it may neither wait nor take a lock.
        """

    def __reduce__(self) -> NoReturn:
        raise PondError(
            "an open pond cannot be sent to another process",
            hint="Send the path, and open the pond there with millpond.connect.",
        )


def keep_for_ever(thing: object) -> None:
    """Never destroy `thing`, not even when the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _disable_inherited() -> None:
    global _inherited, _process
    gc.freeze()  # nor may objects in cycles that nobody refers to any more be destroyed here, whenever memory is asked for
    parent, _process = _process, os.getpid()
    for thing in list(_living):
        _inherited = True
        keep_for_ever(thing)
        with contextlib.suppress(AttributeError):  # another thread of the parent was still making it
            thing._leave_to_parent()
        thing.__class__ = _refusing(type(thing), parent)
    _living.clear()


def _refusing(kind: type, parent: int) -> type:
    """A class like `kind` whose objects refuse everything."""

    def refuse() -> NoReturn:
        raise ForkedPond(parent, os.getpid())

    def get(self: object, name: str) -> Any:
        if name in _HARMLESS:
            return _do_nothing
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        refuse()

    def change(self: object, *_: object) -> NoReturn:
        refuse()

    def show(self: object) -> str:
        return f"<{kind.__name__} of process {parent}>"

    return type(
        kind.__name__,
        (kind,),
        {"__getattribute__": get, "__setattr__": change, "__delattr__": change, "__repr__": show},
    )


def _do_nothing(*_: object, **__: object) -> None:
    pass


def _end_quietly() -> None:
    """DuckDB's bindings list what was not destroyed, in dozens of lines, when a process ends. Here it is on purpose.

    They write to the file descriptor of stderr; what Python writes there until the end still arrives.
    """
    stderr = sys.__stderr__
    if _inherited and stderr is not None and stderr is sys.stderr:
        with contextlib.suppress(OSError, ValueError):
            stderr.flush()
            sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, errors="backslashreplace")
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)


os.register_at_fork(after_in_child=_disable_inherited)
atexit.register(_end_quietly)
