"""The state of the network is a value: what changes it gives a new one."""

from __future__ import annotations

import json

from millpond.event_time import Progress
from millpond.network.run.state import Seen, State

STATE = State(
    7,
    {"a@1": Progress(10, 8), "b@2": Progress()},
    {"a@1": 5},
    {"t@1": Seen(30, 10), "u@2": Seen(4, None)},
    {"c@3": "it failed"},
)


def test_a_state_is_written_and_read_back() -> None:
    assert State.from_json(7, json.loads(json.dumps(STATE.to_json()))) == STATE


def test_changes_give_a_new_state_and_leave_the_old_one() -> None:
    old = json.dumps(STATE.to_json())
    changed = (
        STATE.with_progress({"a@1": Progress(12, 10)})
        .with_seen({"t@1": Seen(40, 12)})
        .with_sent({"a@1": 3, "b@2": 2})
        .failing({"b@2": "division by zero"})
    )
    assert json.dumps(STATE.to_json()) == old
    assert changed.progress == {"a@1": Progress(12, 10), "b@2": Progress()}
    assert changed.seen == {"t@1": Seen(40, 12), "u@2": Seen(4, None)}
    assert changed.numbers == {"a@1": 8, "b@2": 2}
    assert changed.failed == {"c@3": "it failed", "b@2": "division by zero"}
    assert changed.tick == 7


def test_the_first_reason_of_a_failure_stays() -> None:
    assert STATE.failing({"c@3": "another"}).failed == {"c@3": "it failed"}


def test_a_query_that_restarts_keeps_the_number_of_its_rows() -> None:
    again = STATE.restarting(("a@1", "c@3"))
    assert (again.progress, again.failed, again.numbers) == ({"b@2": Progress()}, {}, {"a@1": 5})


def test_dropped_queries_and_tables_nobody_reads_are_forgotten() -> None:
    assert STATE.keeping({"a@1"}) == State(7, {"a@1": Progress(10, 8)}, {"a@1": 5}, STATE.seen, {})
    assert STATE.reading({"u@2"}).seen == {"u@2": Seen(4, None)}
    assert STATE.reading({"t@1", "u@2", "v@3"}) is STATE


def test_what_must_be_made_durable_is_where_queries_begin() -> None:
    assert not STATE.begun_since(STATE)
    assert not STATE.keeping({"a@1"}).reading(set()).begun_since(STATE)  # found again after a restart
    assert not STATE.failing({"b@2": "bad"}).begun_since(STATE)  # likewise
    assert STATE.with_progress({"d@4": Progress()}).begun_since(STATE)
    assert STATE.with_seen({"v@3": Seen(0, None)}).begun_since(STATE)


def test_a_failed_query_that_resumes_at_the_same_time_is_made_durable() -> None:
    stopped = STATE.failing({"a@1": "bad"})
    resumed = stopped.restarting(("a@1",)).with_progress({"a@1": Progress(10, 8)})
    assert resumed.progress == stopped.progress
    assert resumed.begun_since(stopped)
