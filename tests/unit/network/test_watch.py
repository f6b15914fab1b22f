"""Evaluations that take too long are shown, ended and cancelled, and nobody else notices."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from millpond.clock import SystemClock
from millpond.errors import Cancelled, LimitExceeded
from millpond.network.engine import watch as watches
from millpond.network.engine.engine import Engine
from millpond.network.engine.watch import Watch, cancel, forget, stuck, underway

FOREVER = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0"
CLOCK = SystemClock()


def until(found: Callable[[], object], seconds: float = 30) -> None:
    waiting, begin = threading.Event(), CLOCK.monotonic()
    while not found():
        assert CLOCK.monotonic() < begin + seconds, "it did not happen in time"
        waiting.wait(0.02)


def test_a_question_beyond_its_time_is_interrupted_and_the_next_query_answered(tmp_path: Path) -> None:
    watch, engine = Watch(tmp_path, timedelta(seconds=0.3), CLOCK), Engine()
    with watch.over("poison", "poison@1") as engine.evaluation, pytest.raises(LimitExceeded) as caught:
        engine.run(FOREVER, {})
    assert str(caught.value) == (
        'an evaluation of query "poison" took longer than 0.3 seconds and was stopped\n'
        "Hint: Setting evaluation_time is the limit; connect(..., evaluation_time=...) raises it."
    )
    with watch.over("other", "other@1") as engine.evaluation:
        assert engine.run("SELECT 1 AS n", {}) == pa.table({"n": pa.array([1], pa.int32())})
    watch.close()


def test_a_long_evaluation_is_shown_and_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "_SHOWN_AFTER", 0.1)
    watch, engine = Watch(tmp_path, None, CLOCK), Engine()
    failures: list[BaseException] = []

    def evaluate() -> None:
        with watch.over("poison", "poison@1") as engine.evaluation:
            try:
                engine.run(FOREVER, {})
            except Cancelled as error:
                failures.append(error)

    thread = threading.Thread(target=evaluate)
    thread.start()
    until(lambda: underway(tmp_path, CLOCK))
    (shown,) = underway(tmp_path, CLOCK)
    assert shown.query == "poison"
    assert shown.since <= CLOCK.micros()
    cancel(tmp_path, "another@1")
    cancel(tmp_path, "poison@1")
    thread.join(30)
    assert [str(f) for f in failures] == [
        'an evaluation of query "poison" was cancelled\nDetail: The query was dropped or altered.'
    ]
    until(lambda: not underway(tmp_path, CLOCK))
    forget(tmp_path)
    assert not list((tmp_path / "cancelled").iterdir())
    watch.close()


def test_an_evaluation_of_a_killed_process_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "_FRESH", -1)
    folder = tmp_path / "evaluating"
    folder.mkdir()
    (folder / "gone-1.json").write_text('{"query": "q", "since": 1, "shown": 1, "process": "gone"}')
    (folder / "torn-1.json").write_text('{"query": "q"')
    assert underway(tmp_path, CLOCK) == []


def test_a_worker_whose_evaluation_cannot_be_interrupted_ends_and_says_who_it_was(tmp_path: Path) -> None:
    program = f"""
import threading
from datetime import timedelta
from pathlib import Path
from millpond.clock import SystemClock
from millpond.network.engine import watch as watches
watches._GRACE = watches._SHOWN_AFTER = 0.1
watch = watches.Watch(Path({str(tmp_path)!r}), timedelta(seconds=0.2), SystemClock(), ends_process=True)
with watch.over("loop", "loop@3") as evaluation, evaluation.question():
    threading.Event().wait(60)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 70, done.stderr
    assert stuck(tmp_path) == {"loop@3": "an evaluation took longer than 0.2 seconds and could not be interrupted"}
