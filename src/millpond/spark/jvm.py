"""The JVM behind PySpark: started, watched, and forgotten once it has ended.

PySpark starts one JVM and keeps the connection in globals of its classes. It never asks whether the JVM still lives. After it
has died, every call raises ConnectionRefusedError, in every session and for ever. `forget` puts the globals back to
what they were before the first start, so that the next start is like the first:

    SparkContext._gateway, _jvm         a JVM is started only if there is no gateway
    SparkContext._active_spark_context  a second context beside it is refused
    SparkSession._instantiatedSession,  `getOrCreate` would give the dead session
      _activeSession, SQLContext._instantiatedContext
    the context's `_jsc`                None tells PySpark that the context was stopped
    the accumulator server              a thread and a socket that wait for the JVM
    the gateway                         its connections, its callback server and the thread that frees Java objects

What PySpark keeps besides (broadcast variables, functions) millpond does not use.

The Python workers need no care: their daemon reads from the JVM, sees the end of it and ends them all.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.process import keep_for_ever

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger("millpond.spark")
_ours: Any = None  # the gateway that this module started
_last_words = ""  # how the last JVM that was forgotten ended
_MOMENT = 0.5  # seconds


def launch(settings: dict[str, str], log: Path) -> bool:
    """Start the JVM, unless one lives, with its own words (banners, warnings) going to a file. Whether it was started."""
    global _ours
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        if lives():
            return False
        forget()
    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    start: Any = launch_gateway
    with open(log, "ab") as words:
        _ours = start(conf, {"stdout": words, "stderr": words})
    SparkContext._ensure_initialized(gateway=_ours, conf=conf)
    return True


def lives() -> bool:
    """Whether the JVM of this process runs. Costs one system call."""
    context = _context_class()
    if context is None or context._gateway is None:
        return False
    process = _process()
    return process is None or process.poll() is None  # without a process: the JVM started us, and not we it


def wait_for_end(seconds: float) -> bool:
    """Whether the JVM has ended: after a lost connection its process may need a moment to."""
    process = _process()
    if process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    return not lives()


def how_it_ended() -> str:
    """In words, with the number of the process."""
    process = _process()
    if process is None or process.returncode is None:
        return _last_words
    code = process.returncode
    return f"Process {process.pid} " + (
        f"was ended by {_signal_name(-code)}." if code < 0 else f"ended with exit code {code}."
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def forget() -> None:
    """End what is left of the JVM and make PySpark forget it; see above."""
    global _ours, _last_words
    from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
    from pyspark import SparkContext
    from pyspark.sql import SparkSession, SQLContext

    gateway: Any = SparkContext._gateway
    context: Any = SparkContext._active_spark_context
    if gateway is not None and gateway.proc is not None:
        gateway.proc.kill()  # also one that does not answer; a dead one does not mind
        gateway.proc.wait()
        with contextlib.suppress(OSError):
            gateway.proc.stdin.close()
        _last_words = how_it_ended()
    with SparkContext._lock:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SQLContext._instantiatedContext = None
    _ours = None
    if context is not None:
        context._jsc = None
        server = getattr(context, "_accumulatorServer", None)
        if server is not None:
            server.shutdown()
            context._accumulatorServer = None
    if gateway is not None:
        client = gateway._gateway_client
        client.is_connected = False  # nothing is to be freed in a JVM that is gone
        client.finalizer_deque.appendleft(SHUTDOWN_FINALIZER_WORKER)
        client.close()
        gateway.shutdown_callback_server()


def quieten(session: SparkSession) -> None:
    """When the JVM goes, the server of accumulators prints an EOFError with its trace, and py4j the calls that broke off.

    Whoever is concerned is told by an error of ours.
    """
    server: Any = session.sparkContext._accumulatorServer
    server.handle_error = lambda *_: _log.debug("a connection to Spark's accumulators ended", exc_info=True)
    for name in ("", "py4j.clientserver", "py4j.java_gateway"):  # of a lost connection py4j tells the root logger
        logging.getLogger(name).addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a record is anything else than a complaint of py4j that the JVM is gone."""
    if record.levelno < logging.WARNING or "py4j" not in Path(record.pathname).parts:
        return True
    return not wait_for_end(_MOMENT)


def leave_to_parent() -> None:
    """In a forked child: forget the parent's JVM without a word to it. The child may start one of its own.

    The pipe that keeps the JVM alive is closed here, so that the JVM ends with the parent and not with the child.
    """
    global _ours
    context = _context_class()
    if context is None or _ours is None or context._gateway is not _ours:
        return
    from pyspark.sql import SparkSession, SQLContext  # they are imported: a JVM was started

    for thing in (_ours, context._active_spark_context, SparkSession._instantiatedSession):
        keep_for_ever(thing)
    process = _process()
    if process is not None and process.stdin is not None:
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()
    context._lock = threading.RLock()  # a thread of the parent may hold them
    SparkSession.Builder._lock = threading.RLock()
    context._gateway = context._jvm = context._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None
    _ours = None


def _context_class() -> type[SparkContext] | None:
    """Without importing PySpark, which takes a second."""
    module = sys.modules.get("pyspark.core.context")
    return None if module is None else getattr(module, "SparkContext", None)


def _process() -> subprocess.Popen[bytes] | None:
    context = _context_class()
    gateway: Any = None if context is None else context._gateway
    process: subprocess.Popen[bytes] | None = None if gateway is None else gateway.proc
    return process
