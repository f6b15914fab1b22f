"""One Spark session per process, started when first needed, with our settings and the reason for each.

A session costs seconds and a JVM; nothing outside this module starts one, and nothing starts one to answer a small
question or print help.

The JVM may die at any time (killed by hand, or by a system short of memory). Whoever asks for the session next gets a new
one. Whoever was using the old one asks `lost` after an error, or `is_live` while waiting, and tells it by `SparkDied`.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any

from millpond.config import Config
from millpond.errors import CatalogError, EngineError, JavaMissing, SparkDied
from millpond.spark import jvm
from millpond.spark.slots import is_local, settings_of
from millpond.sql.translate import SPARK_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
_LOOPBACK = "127.0.0.1"
_LAST_MOMENT = 2.0  # seconds that a dying JVM may need after its connections were closed
_lock = threading.Lock()
_session: SparkSession | None = None
_handler: Any = None  # of Ctrl-C, before Spark took it
_log = logging.getLogger("millpond.spark")

_SETTINGS = {
    # A console nobody asked for costs memory and opens a port.
    "spark.ui.enabled": "false",
    # Ticks are many and small; re-planning each shuffle costs more than it finds.
    "spark.sql.adaptive.enabled": "false",
    # Two log writes a tick: 115 ms by default, 31 ms with this manager and process launch (measured).
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.driver.extraJavaOptions": "-Djdk.lang.Process.launchMechanism=VFORK -XX:+UseSerialGC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Workers keep their imports (and later their windows) from tick to tick.
    "spark.python.worker.reuse": "true",
    "spark.python.authenticate.socketTimeout": "120s",  # a worker that starts on a busy machine is late, not dead
    # Bounded history of finished ticks: it would grow for ever otherwise.
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # And of finished jobs and queries, for a console that there is not: by default a thousand plans and 100,000 tasks.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.liveUpdate.period": "-1",
    # The parser remembers all that it has read, and for ever. Texts of users are of all kinds: it may take 15 % of the heap.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushRatio": "15",
    # A query reads relations that it is given. Settings and the environment (`${env:HOME}`) must not get into a text, nor may
    # the name of a relation be the path of a file.
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
    # Damage in a file must be an error, not an answer.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}


# Parts of the heap.
_PARTS = {
    # By default it is as large as the heap: a large result would end the JVM instead of the query.
    "spark.driver.maxResultSize": 2,
    # Each sort and each aggregation takes a page, however few its rows are: by default 8 MiB of 1 GiB.
    "spark.buffer.pageSize": 1024,
}


def find_java() -> str:
    """The Java to use; raises `JavaMissing` with what to do if there is none of at least version 17."""
    home = os.environ.get("JAVA_HOME")
    places = [_java_in(home)] if home else []
    places += [p for p in (shutil.which("java"),) if p]
    found = []
    for java in places:
        version = _java_version(java)
        if version is not None and version >= OLDEST_JAVA:
            return java
        found.append(f"{java} ({'version ' + str(version) if version else 'not usable'})")
    raise JavaMissing(
        f"Java {OLDEST_JAVA} or newer was not found",
        detail="Archiving and large queries run on Spark, which needs it; intake and small queries do not."
        + (f" Found only: {', '.join(found)}." if found else ""),
        hint="Install it (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) "
        "or set JAVA_HOME.",
    )


@contextmanager
def _java_home_of(java: str) -> Iterator[None]:
    """Spark looks at JAVA_HOME alone where it is set: without it, while another Java than that one is started."""
    home = os.environ.get("JAVA_HOME")
    if home is None or java == _java_in(home):
        yield
        return
    _log.warning(
        "JAVA_HOME is set to %s, where there is no working Java of version %d; using %s", home, OLDEST_JAVA, java
    )
    del os.environ["JAVA_HOME"]
    try:
        yield
    finally:
        os.environ["JAVA_HOME"] = home


def _java_in(home: str) -> str:
    return str(Path(home) / "bin" / "java")


def _java_version(java: str) -> int | None:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        return None
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def running() -> bool:
    """Whether this process has a session."""
    return _session is not None and is_live(_session)


def is_live(session: SparkSession) -> bool:
    """Whether `session`, the process's or one made from it, can still be used."""
    if _session is None or session.sparkContext is not _session.sparkContext:
        return False
    return jvm.lives() and session.sparkContext._jsc is not None


def narrow_session(session: SparkSession) -> SparkSession:
    """A session beside `session` in which every step of a query is one task.

    What it computes depends on its input alone, not on which of several tasks ended first. And it takes one core at a time, so
    the pipeline has the others.
    """
    narrow = session.newSession()
    for setting in ("spark.sql.shuffle.partitions", "spark.sql.leafNodeDefaultParallelism"):
        narrow.conf.set(setting, "1")
    return narrow


def lost(session: SparkSession, error: BaseException | None = None) -> SparkDied | None:
    """The error to tell if the JVM of `session` has died; None if it has not.

    `error` is what was raised in the use of it. If that is not an answer of the JVM, the connection may have been lost a
    moment before the process ended: that is waited for.
    """
    if is_live(session) and error is not None and not _is_answer(error):
        jvm.wait_for_end(_LAST_MOMENT)
    return None if is_live(session) else SparkDied(jvm.how_it_ended(), str(log_path()))


def _is_answer(error: BaseException) -> bool:
    return type(error).__module__.startswith("pyspark.errors") or type(error).__name__ == "Py4JJavaError"


def session_for(config: Config, why: str) -> SparkSession:
    """The process's session as a pond's settings want it; see `get_session`."""
    c = config
    return get_session(
        c.spark_master, c.spark_memory, why=why, conf=dict(c.spark_conf), host=c.driver_host, bind=c.driver_bind
    )


def get_session(
    master: str = "local[*]",
    memory: str = "1g",
    *,
    why: str = "it is asked for",
    conf: Mapping[str, str] = MappingProxyType({}),
    host: str = "",
    bind: str = "",
) -> SparkSession:
    """The process's session, started now if there is none. A later call gets the same one, whatever it asks for.

    `why` completes the sentence that is logged before the start, for whoever waits for it. `conf` are settings of Spark; those on
    which answers depend are ours.
    """
    global _session
    with _lock:
        if _session is not None and is_live(_session):
            return _session
        _clear()
        java = find_java()
        settings = _settings(master, memory, conf, host, bind)
        _log.info("starting Spark, because %s; some seconds to a minute", why)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if is_local(master):
            os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        # Workers must find this very package, also when it runs from a source tree.
        here = str(Path(__file__).resolve().parents[2])
        paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        if here not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join([here, *paths])
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("millpond").config("spark.driver.memory", memory)
        for key, value in settings.items():
            builder = builder.config(key, value)
        before = signal.getsignal(signal.SIGINT)
        fresh = False
        try:
            with _java_home_of(java):
                fresh = jvm.launch({key: str(value) for key, value in builder._options.items()}, log_path())
            started = builder.getOrCreate()
            started.sparkContext.setLogLevel("ERROR")
            jvm.quieten(started)
            for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
                # They print the stack of the JVM as JSON; an error is told once, in words.
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        except Exception as error:
            if fresh or not jvm.lives():
                jvm.forget()  # half a start must not be in the way of the next
            raise EngineError(
                "Spark could not be started",
                detail=spark_message(error),
                hint=f"Check the Java installation; Spark's own words are in {log_path()}.",
            ) from error
        atexit.register(_delete_log)
        _keep_handler(before)
        _session = started
        return _session


def _settings(master: str, memory: str, conf: Mapping[str, str], host: str, bind: str) -> dict[str, str]:
    ours = sorted(conf.keys() & SPARK_SETTINGS.keys())
    if ours:
        raise CatalogError(
            f'setting spark_conf cannot have "{ours[0]}"',
            detail="Answers depend on it: with another value Spark and the embedded engine would differ.",
        )
    settings = {**_SETTINGS, **settings_of(master)}
    settings["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 2)
    settings |= {name: size for name, parts in _PARTS.items() if (size := part_of(memory, parts)) is not None}
    if is_local(master):  # loopback only: an embedded Spark must not be reachable from outside
        host, bind = host or _LOOPBACK, bind or host or _LOOPBACK
    if host:
        settings["spark.driver.host"] = host
    if bind or host:
        settings["spark.driver.bindAddress"] = bind or host
    return {**settings, **conf, **SPARK_SETTINGS}


def _clear() -> None:
    """Forget a session that cannot be used any more."""
    global _session
    if _session is None:
        return
    if not jvm.lives():
        _log.warning("Spark has ended unexpectedly: %s It is started again", jvm.how_it_ended())
        jvm.forget()
    _session = None


def _keep_handler(before: Any) -> None:
    """PySpark replaces the handler of Ctrl-C by one that cancels its jobs; the one there was must be heard too, first."""
    global _handler
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        return
    if before is not _interrupted:
        _handler = before
    signal.signal(signal.SIGINT, _interrupted)


def _interrupted(number: int, frame: FrameType | None) -> None:
    try:
        _handler(number, frame)
    finally:
        session = _session
        if session is not None and is_live(session):
            session.sparkContext.cancelAllJobs()


def log_path() -> Path:
    """Where Spark's own output of this process goes."""
    return Path(tempfile.gettempdir()) / f"millpond-spark-{os.getpid()}.log"


def _delete_log() -> None:
    log_path().unlink(missing_ok=True)


def stop_session() -> None:
    """Stop the process's session. Its JVM waits for the next one, and ends with the process."""
    global _session
    with _lock:
        if _session is None:
            return
        session, _session = _session, None
        try:
            if jvm.lives():
                session.stop()
        except Exception:
            if not jvm.wait_for_end(_LAST_MOMENT):
                raise
        if not jvm.lives():
            jvm.forget()


def _leave_to_parent() -> None:
    """In a forked child: Spark is the parent's."""
    global _lock, _session
    _lock = threading.Lock()
    _session = None
    jvm.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)


def part_of(memory: str, parts: int) -> str | None:
    """A part of a size of memory in Spark's words, at least 1 MiB; of one that is not understood none.

    >>> part_of("1g", 2), part_of("1500m", 2), part_of("3GB", 2), part_of("600m", 1024), part_of("much", 2)
    ('512m', '750m', '1536m', '1m', None)
    """
    match = re.fullmatch(r"(\d+)\s*([mgt])i?b?", memory.strip().lower())
    if match is None:
        return None
    return f"{max(int(match[1]) * {'m': 1, 'g': 1 << 10, 't': 1 << 20}[match[2]] // parts, 1)}m"


def took_too_much(error: BaseException) -> bool:
    """Whether Spark ended a query because of the memory it takes."""
    return any(sign in str(error) for sign in ("spark.driver.maxResultSize", "OutOfMemoryError", "Java heap space"))


_PLACE = re.compile(r"(?<=SQLSTATE: .....); line \d+ pos \d+;?$")  # in a text that the user has not written
_JAVA_ERROR = re.compile(r"(?:: |Caused by: )[\w.$]+(?:Exception|Error): (.+)")


def spark_message(error: BaseException) -> str:
    """What Spark says, without the trace: the first line that tells something."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The cause inside a Python worker is the last line of its traceback, which names the error.
    inner = [line for line in lines if re.match(r"^[A-Za-z_.]+(Error|Full|Block|Exception|Invalid): ", line)]
    if not inner and lines and lines[0].startswith("An error occurred while calling"):
        # Py4J's own words about an error of the JVM, before its trace: a cause with a condition, `[LIKE_THIS]`, tells most.
        causes = [found[1] for line in lines if (found := _JAVA_ERROR.match(line))]
        inner = [cause for cause in causes if cause.startswith("[")][:1] or causes[-1:]
    told = inner[-1] if inner else lines[0] if lines else type(error).__name__
    return _PLACE.sub("", told)[:500]
