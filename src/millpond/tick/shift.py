"""A shift: what a task of the pond's streaming query does. It connects to the pond's process and serves ticks until it is over.

A worker's process keeps its connection, and what it remembers of its shards, from one shift to the next: the thread that serves
goes on while one shift has ended and the next has not begun, so ticks do not notice. That may take long: Spark does the task of a
worker that ended again, for as long as a shift, and if a host is cut off, first has to notice, which takes half a minute. If no
next one begins, because the query has ended or Spark gave the place to another process, the connection is closed, and the
shards go to others.
"""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.task import ShardTask, worker_name
from millpond.network.run.worker import forget_shards
from millpond.tick.invitation import Invitation
from millpond.tick.messages import decode_task, encode_failure, encode_result
from millpond.tick.task_result import ShardEvaluated, run_task
from millpond.tick.wire import Channel, connect
from millpond.tick.workers import package_version

_BETWEEN = 45.0  # seconds, and those of a shift: from the end of a shift to the beginning of the next one, at most
_LOOK = 1.0
_AGAIN = 1.0  # seconds between attempts to connect
_ATTEMPTS = 5  # while the pond's host answers: it has gone if its process does not


@dataclass
class Served:
    """What a worker has done in a shift: ticks that it had a part in, tasks, rows read, results sent, seconds at work."""

    worker: str = field(default_factory=worker_name)
    ticks: int = 0
    tasks: int = 0
    rows: int = 0
    results: int = 0
    seconds: float = 0.0


class _Station:
    """A connection and the thread that serves it."""

    def __init__(self, invitation: Invitation) -> None:
        self.invitation = invitation
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.dismissed = False  # by the pond: there is no use in connecting again
        self._shifts = 0  # under way in this process
        self._left = time.monotonic()
        self._lock = threading.Lock()
        self._served = Served()
        self._last: tuple[str, int] | None = None
        self._definitions: dict[str, ShardDefinitions] = {}
        self._ponds: set[str] = set()
        self._aside: set[str] = set()
        self._channel = connect(invitation.host, invitation.port, invitation.secret)
        self._channel.send({"is": "hello", "worker": worker_name(), "millpond": package_version()})
        threading.Thread(target=self._run, name="millpond-shift", daemon=True).start()

    def shift(self, seconds: float) -> None:
        """Be in a shift: until it is over, or the connection ended."""
        with self._lock:
            self._shifts += 1
        try:
            self.ended.wait(seconds)
        finally:
            with self._lock:
                self._shifts -= 1
                self._left = time.monotonic()

    def served(self) -> Served:
        """What was done since this was asked last."""
        with self._lock:
            found, self._served = self._served, Served()
        return found

    def _run(self) -> None:
        try:
            while self._wanted():
                if self._channel.ready(_LOOK) and not self._one(self._channel):
                    for pond in self._ponds:
                        forget_shards(pond)
                    self.dismissed = True
                    break
        except (EOFError, OSError):
            pass  # the pond's process has ended, or the way to it
        except BaseException as error:  # a bug: told by the task, which Spark runs again
            self.error = error
        finally:
            self._channel.close()
            self.ended.set()

    def _wanted(self) -> bool:
        with self._lock:
            return self._shifts > 0 or time.monotonic() - self._left < self.invitation.seconds + _BETWEEN

    def _one(self, channel: Channel) -> bool:
        """Receive a frame and do what it says; False when it is the end."""
        head, _ = channel.receive()
        if head["do"] == "end":
            return False
        if head["do"] == "define":
            made = ShardDefinitions.from_text(head["text"])
            self._definitions = {k: d for k, d in self._definitions.items() if not _replaces(made.key, k)}
            self._definitions[made.key] = made
            return True
        self._task(channel, head)
        return True

    def _task(self, channel: Channel, head: dict[str, Any]) -> None:
        number, begin = head["id"], time.monotonic()
        rows = sent = 0
        try:
            task = decode_task(head, self._definitions)
            result = run_task(task, head["name"])
            answer, bodies = encode_result(result)
        except Exception as error:
            channel.send({"id": number, **encode_failure(error)})
            return
        channel.send({"is": "done", "id": number, **answer}, bodies)
        if isinstance(task, ShardTask):
            self._ponds.add(task.pond)
            rows = sum(part.section.rows for part in task.sections if part.end > task.before.position)
            tick = (task.run_id, task.after.position)
        else:
            tick = ("", number)
        if isinstance(result, ShardEvaluated):
            sent = sum(found.num_rows for found in result.outcome.sent.values())
        with self._lock:
            done = self._served
            done.tasks += 1
            done.ticks += tick != self._last
            done.rows += rows
            done.results += sent
            done.seconds += time.monotonic() - begin
            self._last = tick
        if isinstance(task, ShardTask) and task.definitions.key not in self._aside:
            self._set_aside(task.definitions.key)

    def _set_aside(self, key: str) -> None:
        """What a worker holds after its first task, imported modules and parsed queries, is there to stay: let the garbage
        collector not look at it. Over all that stays this took a third of a worker's time."""
        self._aside.add(key)
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def _replaces(new: str, old: str) -> bool:
    """Whether definitions called `new` come in the place of those called `old`: of the same run and table."""
    return new.rpartition("-")[0] == old.rpartition("-")[0]


_station: _Station | None = None  # of this process


def serve(invitation: Invitation) -> Served:
    """Be a worker for one shift; what was done in it, and since the one before."""
    global _station
    end = time.monotonic() + invitation.seconds
    attempts = 0
    done = Served()
    while (left := end - time.monotonic()) > 0 and attempts < _ATTEMPTS:
        station = _station
        if station is None or station.invitation != invitation or station.ended.is_set():
            try:
                station = _station = _Station(invitation)
            except (ConnectionRefusedError, EOFError):  # the pond has gone
                attempts += 1
                time.sleep(min(_AGAIN, left))
                continue
            except OSError:  # it cannot be reached now
                time.sleep(min(_AGAIN, left))
                continue
            attempts = 0
        station.shift(left)
        done = _sum(done, station.served())
        if station.error is not None:
            raise station.error
        if station.dismissed:
            break
        if station.ended.is_set():
            attempts += 1
            time.sleep(min(_AGAIN / 10, left))
    return done


def _sum(one: Served, other: Served) -> Served:
    return Served(
        one.worker,
        one.ticks + other.ticks,
        one.tasks + other.tasks,
        one.rows + other.rows,
        one.results + other.results,
        one.seconds + other.seconds,
    )
