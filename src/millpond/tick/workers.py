"""The workers as the pond's process sees them: connections that come and go, and the tasks of a tick given out over them.

    a shard's task      goes to the worker that had the shard last, unless that is gone or has more than its share
    any other task      goes to whoever has nothing to do

A connection that is lost gives its tasks back: others get them at once. So does one whose host has not answered for some
seconds: then the network is cut, and nothing else would tell. A task that has lost three workers is given up with an error; it
is never done in this process, which it might end too. What comes from a tick that was left is not wanted any more, and is told
apart by its number.

Anybody can connect to the port. Who has not shown yet that he knows the secret takes one of a few places, and who comes when all
are taken gets the place of the one who has been there longest. So strangers neither use up what the process has nor keep
workers out, who need some milliseconds.

Threads. One accepts connections, one looks whether their hosts answer, one for each connection receives; `run` is called by
the pipeline's thread, one tick at a time. Each connection has at most two tasks under way, so neither side sends more than the
other takes.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from millpond.errors import EngineError, MillpondError, counted
from millpond.network.run.state import Seen
from millpond.network.run.task import ShardTask
from millpond.tick.assignment import Wanted, distribute
from millpond.tick.messages import Head, decode_failure, decode_result, encode_task
from millpond.tick.task_result import ShardEvaluated, TaskResult, Work
from millpond.tick.wire import Channel, WireError, accept

_UNDERWAY = (
    2  # tasks of a connection: one that is done and one that waits, so that none waits for the way there and back
)
_LIVES = 3  # workers that a task may lose
_LOOK = 0.1  # seconds between looks at whether Spark still works
_SILENCE = 4.0  # seconds that a worker's host may be silent: cables are plugged in anew, and shards stay where they are
_LISTEN = 0.5  # seconds between looks at that
_STRANGERS = 64  # connections that have not shown yet that they know the secret
_AGAIN = 0.5  # seconds until connections are accepted again, where the system had no room for one

_log = logging.getLogger("millpond.pipeline")


def package_version() -> str:
    """The version of the package that this process runs."""
    try:
        return version("millpond")
    except PackageNotFoundError:  # from a source tree that was not installed
        return ""


@dataclass(eq=False)
class _Worker:
    """A connection. Only the thread of `run` changes what is below `name`."""

    channel: Channel
    name: str
    defined: set[str] = field(default_factory=set)
    underway: dict[int, int] = field(default_factory=dict)  # the tick's task, or -1, by the number of the sent one
    waiting: deque[int] = field(default_factory=deque)  # tasks of the tick that are to be sent
    stands: dict[tuple[str, str, int], Seen] = field(
        default_factory=dict
    )  # where it has shards, by run, table and number


@dataclass(frozen=True)
class _Event:
    worker: _Worker
    what: str  # joined, lost or a frame's "is"
    head: Head = field(default_factory=dict)
    result: TaskResult | None = None
    place: int = -1  # of the task that was answered, if it is of the tick under way


class NoWorker(EngineError):
    """Spark runs, and none of its tasks has reached this process."""


class Workers:
    """`secret` is what workers must know; they connect to `host` and `port`. `slots` tells how many tasks the next shift has,
    to the process of Spark that plans it."""

    def __init__(self, host: str, bind: str, slots: Callable[[], int] = lambda: 1) -> None:
        self.host = host
        self._slots = slots
        self.secret = secrets.token_bytes(32)
        self._name = secrets.token_hex(4)
        self._listener = socket.create_server((bind, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._known: list[_Worker] = []  # by the thread of `run` and `wait_for`
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._channels: set[Channel] = set()
        self._strangers: dict[socket.socket, None] = {}  # in the order in which they came
        self._lock = threading.Lock()  # guards `_channels`, `_strangers` and `_closed`
        self._closed = False
        self._numbers = 0
        self.refused: MillpondError | None = None  # why the last one that was refused was
        self._alone_since = time.monotonic()
        self._ended = threading.Event()
        threading.Thread(target=self._accept, name="millpond-workers", daemon=True).start()
        threading.Thread(target=self._watch, name="millpond-workers-watch", daemon=True).start()

    @property
    def count(self) -> int:
        """How many are connected."""
        return len(self._channels)

    @property
    def alone(self) -> float:
        """For how many seconds no worker has been there, as far as events told."""
        return 0.0 if self._known else time.monotonic() - self._alone_since

    def close(self) -> None:
        """End all connections: their shifts end with them."""
        with self._lock:
            self._closed = True
            channels = list(self._channels)
            for stranger in self._strangers:
                _hang_up(stranger)
        self._ended.set()
        _hang_up(self._listener)  # wakes the thread that accepts; closing alone does not
        self._listener.close()
        for channel in channels:
            channel.close({"do": "end"})

    # -- connections ------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while not self._closed:
            sock: socket.socket | None = None
            try:
                sock, _ = self._listener.accept()
                self._take_place(sock)
                threading.Thread(target=self._serve, args=(sock,), name="millpond-worker", daemon=True).start()
            except (OSError, RuntimeError) as error:  # closed, or no room for another file or thread
                if sock is not None:
                    self._leave_place(sock)
                    sock.close()
                if not self._closed:
                    _log.warning("a connection could not be accepted: %s", error)
                    time.sleep(_AGAIN)

    def _take_place(self, sock: socket.socket) -> None:
        with self._lock:
            if len(self._strangers) >= _STRANGERS:
                longest = next(iter(self._strangers))
                del self._strangers[longest]
                _hang_up(longest)  # its own thread closes it
            self._strangers[sock] = None

    def _leave_place(self, sock: socket.socket) -> None:
        with self._lock:
            self._strangers.pop(sock, None)

    def _watch(self) -> None:
        """End connections to hosts that do not answer."""
        while not self._ended.wait(_LISTEN):
            with self._lock:
                channels = list(self._channels)
            for channel in channels:
                if (silence := channel.silence()) > _SILENCE:
                    _log.warning(
                        "the host of a worker has not answered for %.0f seconds; others get its tasks", silence
                    )
                    channel.close()  # that it is lost comes as an event

    def _serve(self, sock: socket.socket) -> None:
        """Let a worker in, and receive from it."""
        worker: _Worker | None = None
        channel: Channel | None = None
        try:
            channel = accept(sock, self.secret)
            with self._lock:
                self._strangers.pop(sock, None)
                if self._closed:
                    return
                self._channels.add(channel)
            head, _ = channel.receive()
            if head["is"] == "plan":
                channel.send({"slots": self._slots()})
                return
            if head["millpond"] != package_version():
                raise WireError(
                    f"a worker has millpond {head['millpond'] or 'from a source tree'}, this process "
                    f"{package_version() or 'from a source tree'}",
                    hint="Install the same version of millpond wherever Spark's executors run.",
                )
            worker = _Worker(channel, head["worker"])
            self._events.put(_Event(worker, "joined"))
            while True:
                head, bodies = channel.receive()
                result = decode_result(head, bodies) if head["is"] == "done" else None
                if not isinstance(head["id"], int) or (result is None and head["is"] != "failed"):
                    raise WireError("a worker sent what is no answer")
                self._events.put(_Event(worker, head["is"], head, result))
        except EOFError:
            pass
        except (OSError, ValueError, KeyError, TypeError, MillpondError) as error:
            if not self._closed:
                self.refused = error if isinstance(error, MillpondError) else self.refused
                _log.log(
                    logging.WARNING if worker is None else logging.INFO, "a connection of a worker ended: %s", error
                )
        finally:
            self._leave_place(sock)  # before its file is another's
            sock.close()
            with self._lock:
                if channel is not None:
                    self._channels.discard(channel)
            if worker is not None:
                self._events.put(_Event(worker, "lost"))

    def wait_for(self, count: int, seconds: float, check: Callable[[], None]) -> int:
        """Wait until so many are connected; how many are then. `check` raises when there is no use in waiting."""
        end = time.monotonic() + seconds
        while len(self._known) < count and (left := end - time.monotonic()) > 0:
            check()
            self._next(min(left, _LOOK))
        return len(self._known)

    def _next(self, seconds: float) -> _Event | None:
        """The next event that a tick must know of; who is there is kept up to date on the way."""
        try:
            event = self._events.get(timeout=seconds) if seconds > 0 else self._events.get_nowait()
        except queue.Empty:
            return None
        if event.what == "joined":
            self._known.append(event.worker)
        elif event.what == "lost":
            if event.worker in self._known:
                self._known.remove(event.worker)
                self._alone_since = time.monotonic()
        else:
            event = replace(event, place=event.worker.underway.pop(event.head["id"], -1))
        return event

    # -- a tick -----------------------------------------------------------------------------------------------------

    def run(self, tasks: Sequence[Work], check: Callable[[], None], patience: float) -> list[TaskResult]:
        """Have tasks done; their results in the same order. `check` raises when there is no use in waiting any more; without
        any worker at all it is waited for so many seconds."""
        tick = _Tick(self, tasks)
        tick.assign()
        while tick.left:
            tick.send()
            event = self._next(_LOOK)
            if self.alone > patience:
                self._alone_since = time.monotonic()  # whoever tries again waits again
                raise self.absent(patience)
            if event is None:
                check()
            else:
                tick.take(event)
        return [tick.results[place] for place in range(len(tasks))]

    def absent(self, patience: float) -> NoWorker:
        """No worker is there."""
        told = f" The last that tried was refused: {self.refused}." if self.refused is not None else ""
        return NoWorker(
            f"no worker of Spark has connected within {counted(round(patience), 'second')}",
            detail=f"Spark runs, but none of its executors has begun a task that reached {self.host}:{self.port}.{told}",
            hint="Check that the cluster has free cores, that executors can reach that address (settings driver_host and "
            "driver_bind), and that millpond is installed where they run.",
        )

    def number(self) -> int:
        """A number that no task had before."""
        self._numbers += 1
        return self._numbers

    def name(self, number: int) -> str:
        """What files of a task are called: of every other, of every run, otherwise."""
        return f"{self._name}-{number:06d}"

    def present(self) -> list[_Worker]:
        """Who is there, as far as events told."""
        while self._next(0) is not None:
            pass
        return self._known


def _hang_up(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


class _Tick:
    """The tasks of a tick on their way."""

    def __init__(self, workers: Workers, tasks: Sequence[Work]) -> None:
        self._workers = workers
        self._tasks = tasks
        self._anyone: deque[int] = deque()
        self._unassigned = [i for i, task in enumerate(tasks) if isinstance(task, ShardTask)]
        self._anyone.extend(i for i, task in enumerate(tasks) if not isinstance(task, ShardTask))
        self._lost = [0] * len(tasks)
        self.results: dict[int, TaskResult] = {}
        for worker in workers.present():  # what is still under way is of a tick that was left
            worker.waiting.clear()
            worker.underway = dict.fromkeys(worker.underway, -1)

    @property
    def left(self) -> bool:
        return len(self.results) < len(self._tasks)

    def assign(self) -> None:
        """Give out the shards that nobody has."""
        known = self._workers._known
        if not known or not self._unassigned:
            return
        wanted = [
            Wanted(i, task.table, task.owner) for i in self._unassigned if isinstance(task := self._tasks[i], ShardTask)
        ]
        for place, which in distribute(wanted, [worker.name for worker in known]).items():
            known[which].waiting.append(place)
        self._unassigned = []

    def send(self) -> None:
        """Send what the workers can take."""
        for worker in list(self._workers._known):
            while len(worker.underway) < _UNDERWAY and worker.waiting:
                self._send(worker, worker.waiting.popleft())
            if not worker.underway and self._anyone:
                self._send(worker, self._anyone.popleft())

    def _send(self, worker: _Worker, place: int) -> None:
        task, number = self._tasks[place], self._workers.number()
        stays = False
        worker.underway[number] = place
        try:
            if isinstance(task, ShardTask):
                if task.definitions.key not in worker.defined:
                    worker.channel.send({"do": "define", "text": task.definitions.text})
                    worker.defined.add(task.definitions.key)
                stays = worker.stands.get((task.run_id, task.table, task.shard)) == task.before
            head: dict[str, Any] = encode_task(task, stays=stays)
            worker.channel.send({"do": "task", "id": number, "name": self._workers.name(number), **head})
        except OSError:
            worker.channel.close()  # that it is lost comes as an event

    def take(self, event: _Event) -> None:
        """Take note of what has happened."""
        worker = event.worker
        if event.what == "joined":
            self.assign()
            return
        if event.what == "lost":
            again = [*worker.waiting, *(place for place in worker.underway.values() if place >= 0)]
            for place in worker.underway.values():
                self._lose(place)
            worker.waiting.clear()
            worker.underway.clear()
            for place in again:
                if place in self.results:
                    continue
                (self._unassigned if isinstance(self._tasks[place], ShardTask) else self._anyone).append(place)
            self.assign()
            return
        place = event.place
        if place < 0:
            return
        task = self._tasks[place]
        if event.result is None:
            if isinstance(task, ShardTask):
                worker.stands.pop((task.run_id, task.table, task.shard), None)
            raise decode_failure(event.head)
        self.results[place] = event.result
        if isinstance(task, ShardTask) and isinstance(event.result, ShardEvaluated):
            worker.stands[task.run_id, task.table, task.shard] = task.after

    def _lose(self, place: int) -> None:
        if place < 0:
            return
        self._lost[place] += 1
        if self._lost[place] >= _LIVES:
            raise EngineError(
                f"{counted(_LIVES, 'worker')} ended one after another at the same task",
                detail="A query that takes more memory than there is ends its process.",
                hint="Look into the log of the system and of Spark's executors for why.",
            )
