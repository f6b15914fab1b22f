"""Tasks are given out over connections: they stay, they move when a worker is lost, and errors are told."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millpond.catalog import Catalog
from millpond.errors import EngineError, MillpondError
from millpond.network.run.shard_definitions import ShardDefinitions
from millpond.network.run.state import Seen
from millpond.network.run.task import ShardOutcome, ShardTask
from millpond.table.block import BlockSpec
from millpond.table.work import CompactTask
from millpond.tick import shift, wire
from millpond.tick.invitation import Invitation
from millpond.tick.messages import encode_result
from millpond.tick.planning import slots_now
from millpond.tick.task_result import FilesWritten, ShardEvaluated, TaskResult
from millpond.tick.wire import Channel, connect
from millpond.tick.workers import _STRANGERS, Workers, package_version

SOON = 20.0  # seconds
DEFINITIONS = ShardDefinitions("run-t-0", Catalog(), ("q",))


def shard(number: int, owner: str = "", before: int = 0) -> ShardTask:
    return ShardTask(
        pond="/pond", run_id="run", version=0, definitions=DEFINITIONS, table="t", shard=number, before=Seen(before, before),
        after=Seen(before + 1, before + 1), sections=(), reach=0, progress={}, out="/out", owner=owner,
    )  # fmt: skip


def compact(name: str) -> CompactTask:
    return CompactTask(name, 0, 0, BlockSpec("/archive", None), (), ())


def outcome(worker: str, number: int) -> ShardEvaluated:
    return ShardEvaluated(ShardOutcome("t", number, {}, {}, {}, {}, {}, worker))


@dataclass
class Done:
    worker: str
    head: dict[str, Any]


class Fake:
    """A worker that does as it is told: `act` gives its result, or None to say nothing, or raises."""

    def __init__(self, workers: Workers, name: str, act: Callable[[dict[str, Any]], TaskResult | None] | None = None):
        self.name = name
        self.seen: list[dict[str, Any]] = []
        self.defined: list[str] = []
        self._act = act or self._usual
        self.channel: Channel = connect(workers.host, workers.port, workers.secret)
        self.channel.send({"is": "hello", "worker": name, "millpond": package_version()})
        threading.Thread(target=self._run, daemon=True).start()

    def _usual(self, head: dict[str, Any]) -> TaskResult:
        return outcome(self.name, head["shard"]) if head["kind"] == "shard" else FilesWritten([])

    def _run(self) -> None:
        try:
            while True:
                head, _ = self.channel.receive()
                if head["do"] == "define":
                    self.defined.append(head["text"])
                    continue
                self.seen.append(head)
                result = self._act(head)
                if result is not None:
                    answer, bodies = encode_result(result)
                    self.channel.send({"is": "done", "id": head["id"], **answer}, bodies)
        except (EOFError, OSError, KeyError):
            self.channel.close()


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers("127.0.0.1", "127.0.0.1")
    yield made
    made.close()


def fine() -> None:
    """Spark works."""


def owners(results: list[TaskResult]) -> list[str]:
    return [r.outcome.worker for r in results if isinstance(r, ShardEvaluated)]


def there(workers: Workers, count: int) -> None:
    assert workers.wait_for(count, SOON, fine) == count


def test_shards_stay_and_others_go_to_anybody(workers: Workers) -> None:
    a, b = Fake(workers, "a"), Fake(workers, "b")
    there(workers, 2)
    results = workers.run([shard(0, "b"), shard(1, "a"), compact("x")], fine, SOON)
    assert owners(results) == ["b", "a"]
    assert results[2] == FilesWritten([])
    workers.run([shard(0, "b", 1), shard(1, "a", 1)], fine, SOON)
    assert len(a.defined) == len(b.defined) == 1, "definitions are sent once"
    assert [head["reach"] for head in b.seen if head["kind"] == "shard"] == [0, 1], "the second time it has the shard"


def test_a_worker_that_is_lost_gives_its_tasks_to_others(workers: Workers) -> None:
    lost: Fake

    def end(_: dict[str, Any]) -> None:
        lost.channel.close()

    lost = Fake(workers, "a", end)
    there(workers, 1)
    Fake(workers, "b")
    there(workers, 2)
    assert owners(workers.run([shard(i, "a") for i in range(4)], fine, SOON)) == ["b"] * 4
    assert workers.count == 1


def test_a_worker_whose_host_is_silent_gives_its_tasks_to_others(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network that was cut held up the tick until it was there again: nothing closes such a connection."""
    begun = threading.Event()
    Fake(workers, "a", lambda _: begun.set())
    there(workers, 1)
    (cut,) = [worker.channel for worker in workers.present()]
    monkeypatch.setattr(wire.Channel, "silence", lambda channel: 4.5 if channel is cut and begun.is_set() else 0.5)
    Fake(workers, "b")
    there(workers, 2)
    assert owners(workers.run([shard(i, "a") for i in range(4)], fine, SOON)) == ["b"] * 4
    assert workers.count == 1


def test_how_long_a_tick_waits_for_any_worker_is_known(workers: Workers) -> None:
    seen: list[float] = []

    def check() -> None:
        seen.append(workers.alone)
        if len(seen) == 3:
            Fake(workers, "a")

    assert owners(workers.run([shard(0)], check, SOON)) == ["a"]
    assert 0 < seen[0] < seen[2]
    assert workers.alone == 0


def test_a_worker_that_comes_later_is_used(workers: Workers) -> None:
    threading.Timer(0.2, lambda: Fake(workers, "a")).start()
    assert owners(workers.run([shard(0)], fine, SOON)) == ["a"]


def test_a_task_that_ends_its_workers_is_given_up(workers: Workers) -> None:
    def fatal(name: str) -> None:
        fake = Fake(workers, name, lambda _: fake.channel.close())

    for name in "abcd":
        fatal(name)
    there(workers, 4)
    with pytest.raises(EngineError, match="3 workers ended one after another at the same task"):
        workers.run([shard(0)], fine, SOON)


def test_without_workers_it_is_told_what_to_check(workers: Workers) -> None:
    with pytest.raises(EngineError, match="no worker of Spark has connected within 1 second") as caught:
        workers.run([shard(0)], fine, 1.0)
    assert "driver_host" in str(caught.value)


def test_another_package_is_refused_and_told(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("tests.unit.tick.test_workers.package_version", lambda: "0.0.1")
        Fake(workers, "old")
    assert workers.wait_for(1, 0.5, fine) == 0
    told = str(workers.absent(1.0))
    assert "a worker has millpond 0.0.1" in told
    assert "Install the same version" in told


def test_whoever_waits_is_told_that_spark_has_failed(workers: Workers) -> None:
    Fake(workers, "a", lambda _: None)
    there(workers, 1)

    def check() -> None:
        raise EngineError("Spark failed")

    with pytest.raises(EngineError, match="Spark failed"):
        workers.run([shard(0)], check, SOON)


def test_answers_of_a_tick_that_was_left_are_not_taken_for_others(workers: Workers) -> None:
    go = threading.Event()

    def slow(head: dict[str, Any]) -> TaskResult:
        go.wait(SOON)
        return outcome(f"tick {head['before'][0]}", head["shard"])

    Fake(workers, "a", slow)
    there(workers, 1)

    def leave() -> None:
        raise MillpondError("stop")

    with pytest.raises(MillpondError, match="stop"):
        workers.run([shard(0)], leave, SOON)
    threading.Timer(0.3, go.set).start()
    assert owners(workers.run([shard(0, "a", 7)], fine, SOON)) == ["tick 7"]


def test_answers_that_come_between_ticks_free_their_worker(workers: Workers) -> None:
    """Two that were not taken note of, and the worker got no task any more."""
    go = threading.Event()

    def slow(head: dict[str, Any]) -> TaskResult:
        go.wait(SOON)
        return outcome("a", head["shard"])

    fake = Fake(workers, "a", slow)
    there(workers, 1)

    def leave() -> None:
        raise MillpondError("stop")

    with pytest.raises(MillpondError, match="stop"):
        workers.run([shard(0), shard(1)], leave, SOON)
    go.set()
    end = time.monotonic() + SOON
    while len(fake.seen) < 2 or workers._events.qsize() < 2:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert owners(workers.run([shard(0), shard(1)], fine, SOON)) == ["a", "a"]


def invitation(workers: Workers, seconds: float) -> Invitation:
    return Invitation("run", workers.host, workers.port, workers.secret, seconds, 1)


def test_a_connection_outlives_its_shift(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks are served between two shifts too, and are counted in the second."""
    monkeypatch.setattr(shift, "run_task", lambda task, name: outcome(shift.worker_name(), task.shard))
    monkeypatch.setattr(shift, "_LOOK", 0.05)
    first = shift.serve(invitation(workers, 0.2))
    assert first.tasks == 0
    there(workers, 1)
    workers.run([shard(0), shard(1)], fine, SOON)
    second = shift.serve(invitation(workers, 0.2))
    assert (second.ticks, second.tasks) == (1, 2)
    assert workers.count == 1
    monkeypatch.setattr(shift, "_BETWEEN", -0.1)
    end = time.monotonic() + SOON
    while workers.count:  # no shift followed
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_shift_ends_with_its_pond(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers("127.0.0.1", "127.0.0.1")
    threading.Timer(0.3, workers.close).start()
    monkeypatch.setattr(shift, "_AGAIN", 0.01)
    begin = time.monotonic()
    shift.serve(invitation(workers, 60.0))
    assert time.monotonic() - begin < SOON


@pytest.mark.parametrize(
    ("error", "tries"),
    [(OSError(errno.EHOSTUNREACH, "no route"), 9), (TimeoutError(), 9), (ConnectionRefusedError(), shift._ATTEMPTS)],
)
def test_a_pond_that_cannot_be_reached_is_tried_until_the_shift_ends(
    workers: Workers, monkeypatch: pytest.MonkeyPatch, error: OSError, tries: int
) -> None:
    """After five attempts the place was empty until the next shift. A host that refuses has no pond any more."""
    tried: list[int] = []

    def connecting(*args: Any) -> Channel:
        tried.append(1)
        if len(tried) < 9:
            raise error
        threading.Timer(0.1, workers.close).start()
        return connect(*args)

    monkeypatch.setattr(shift, "connect", connecting)
    monkeypatch.setattr(shift, "_AGAIN", 0.01)
    shift.serve(invitation(workers, 60.0))
    assert len(tried) == tries


def test_a_task_that_fails_is_told(workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> TaskResult:
        raise FileNotFoundError("the block's folder")

    monkeypatch.setattr(shift, "run_task", fail)
    serving = threading.Thread(target=shift.serve, args=(invitation(workers, 5.0),))
    serving.start()
    with pytest.raises(EngineError, match="FileNotFoundError: the block's folder"):
        workers.run([compact("x")], fine, SOON)
    workers.close()
    serving.join()


def test_the_process_that_plans_is_told_how_many_tasks_a_shift_has() -> None:
    told = [5, 3]

    def slots() -> int:
        if told:
            return told.pop()
        raise OSError("nobody knows")

    workers = Workers("127.0.0.1", "127.0.0.1", slots)
    invitation = Invitation("run", workers.host, workers.port, workers.secret, 60.0, 2)
    try:
        assert [slots_now(invitation) for _ in range(3)] == [3, 5, 2], "as at first when there is no answer"
        assert workers.present() == []
    finally:
        workers.close()
    assert slots_now(invitation) == 2


def accepting(name: str = "millpond-workers") -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def test_strangers_do_not_keep_workers_out(workers: Workers) -> None:
    """Connections that say nothing take a few places, and give them to those who come after them."""
    before = accepting("millpond-worker")
    strangers = [socket.create_connection((workers.host, workers.port)) for _ in range(150)]
    try:
        worker = Fake(workers, "a")
        there(workers, 1)
        assert workers.run([compact("x")], fine, SOON) == [FilesWritten([])]
        assert len(worker.seen) == 1
        end = time.monotonic() + SOON
        while accepting("millpond-worker") - before > _STRANGERS + 1:
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        for stranger in strangers:
            stranger.close()


def test_a_process_without_room_for_a_file_accepts_workers_later(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.create_server

    class Full:
        """A listener that fails first."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._listener, self._failed = real(*args, **kwargs), False

        def accept(self) -> Any:
            if not self._failed:
                self._failed = True
                raise OSError(errno.EMFILE, "Too many open files")
            return self._listener.accept()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._listener, name)

    monkeypatch.setattr("millpond.tick.workers._AGAIN", 0.01)
    monkeypatch.setattr(socket, "create_server", Full)
    workers = Workers("127.0.0.1", "127.0.0.1")
    try:
        Fake(workers, "a")
        there(workers, 1)
    finally:
        workers.close()


def test_nobody_listens_any_more_when_workers_are_closed() -> None:
    before = accepting()
    workers = Workers("127.0.0.1", "127.0.0.1")
    socket.create_connection((workers.host, workers.port)).close()  # it waits for the next one
    workers.close()
    end = time.monotonic() + SOON
    while accepting() > before:
        assert time.monotonic() < end
        time.sleep(0.02)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((workers.host, workers.port))
