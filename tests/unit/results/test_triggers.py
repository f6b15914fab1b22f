"""Triggers: each result once by id, in order; failures, restarts and what cannot be a trigger."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond import CatalogError, Pond, UnknownName
from millpond.catalog import ContinuousQuery, Trigger
from millpond.clock import ManualClock, SystemClock
from millpond.results.outlet import Outlet
from millpond.results.triggers.runner import TriggerOptions, TriggerRunner
from millpond.results.triggers.supervisor import Triggers
from millpond.schema import Schema
from millpond.sealed import read_sealed
from millpond.sinks.http import Post, check_address, to_json
from millpond.sinks.python import Calling, find_callable

QUICK = TriggerOptions(first_pause=timedelta(milliseconds=1), longest_pause=timedelta(milliseconds=4))
PATIENCE = 90.0  # seconds until a test gives up


def until(done: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if done():
            return
        waiting.wait(0.005)
    raise AssertionError("it did not come to that")


class Receiver:
    """An HTTP server that notes what is posted to it and answers with the next of `answers`, then 204."""

    def __init__(self) -> None:
        self.came: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answers: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert self.headers["Content-Type"] == "application/json"
                code = receiver.answers.pop(0) if receiver.answers else 204
                receiver.keys.append(self.headers["Idempotency-Key"])
                receiver.came.append(body)
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", receiver.address)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/in"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def opened(place: Path) -> Pond:
    db = millpond.connect(place, auto_archive=False)
    db._workspace.triggers._options = QUICK
    return db


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with opened(tmp_path / "pond") as db:
        db.sql("CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
        db.advance("r", 0)
        db.tick()
    return tmp_path / "pond"


@pytest.fixture
def db(place: Path) -> Iterator[Pond]:
    with opened(place) as db:
        yield db


def send(db: Pond, *times: int) -> None:
    """One result a time."""
    db.append("r", [(10 * t, t) for t in times])
    db.advance("r", max(times) + 1)
    db.tick()


def shown(db: Pond) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.sql("SHOW TRIGGERS").arrow().to_pylist()
    return found


def folder(db: Pond) -> str:
    return db._workspace.catalog.query("q").folder


# -- a callable in this process -------------------------------------------------------------------------------------


def test_a_callable_gets_each_result_from_now_on_in_order(db: Pond) -> None:
    send(db, 1)
    came: list[dict[str, Any]] = []
    db.on("q", came.append)
    send(db, 2, 3)
    send(db, 4)
    until(lambda: len(came) == 3)
    q = folder(db)
    assert came == [
        {"id": f"{q}:1", "query": "q", "instant": 2, "vid": 20},
        {"id": f"{q}:2", "query": "q", "instant": 3, "vid": 30},
        {"id": f"{q}:3", "query": "q", "instant": 4, "vid": 40},
    ]
    until(lambda: shown(db)[0]["sent"] == 3)
    assert shown(db) == [
        {"query": "q", "do": "callable", "target": "None:list.append", "state": "running", "sent": 3, "lag": 0,
         "missed": 0, "problem": None}
    ]  # fmt: skip


def test_a_callable_ends_with_the_process(place: Path) -> None:
    with opened(place) as db:
        db.on("q", print)
    with opened(place) as db:
        db._workspace.own()
        assert shown(db) == []


def test_one_that_fails_is_called_again_and_holds_up_nobody(db: Pond) -> None:
    good: list[int] = []
    bad: list[int] = []
    broken = threading.Event()
    broken.set()

    def picky(event: dict[str, Any]) -> None:
        bad.append(event["vid"])
        if broken.is_set() and event["vid"] == 20:
            raise ValueError("not this one\nand more")

    db.on("q", picky)
    db.on("q", lambda event: good.append(event["vid"]))
    send(db, 1, 2, 3)
    until(lambda: good == [10, 20, 30] and bad.count(20) > 3)
    first, second = shown(db)
    assert (first["state"], first["sent"], first["lag"]) == ("retrying", 1, 2)
    assert first["problem"] == "ValueError: not this one"
    assert (second["state"], second["lag"], second["problem"]) == ("running", 0, None)
    send(db, 4)  # the tick goes on meanwhile
    until(lambda: good == [10, 20, 30, 40])
    broken.clear()
    until(lambda: shown(db)[0]["lag"] == 0)
    assert [v for v in bad if v != 20] == [10, 30, 40]
    assert shown(db)[0]["problem"] is None


def test_one_that_wants_to_end_the_process_is_called_again(db: Pond) -> None:
    calls: list[int] = []

    def leave(event: dict[str, Any]) -> None:
        calls.append(event["vid"])
        if len(calls) < 3:
            sys.exit(3)

    db.on("q", leave)
    send(db, 1)
    until(lambda: calls == [10, 10, 10])


def test_a_callable_may_use_the_pond(db: Pond) -> None:
    found: list[Any] = []
    db.on("q", lambda event: found.append(db.sql("SELECT count(*) FROM r").rows()[0][0]))
    send(db, 1)
    until(lambda: found == [1])


def test_a_callable_may_drop_its_own_trigger(db: Pond) -> None:
    came: list[int] = []

    def once(event: dict[str, Any]) -> None:
        came.append(event["vid"])
        db.sql("ON q DO NOTHING")

    db.on("q", once)
    send(db, 1, 2, 3)
    until(lambda: shown(db) == [])
    send(db, 4)
    assert came == [10]


def test_close_does_not_wait_for_ever(place: Path) -> None:
    db = opened(place)
    free, inside = threading.Event(), threading.Event()

    def hang(event: dict[str, Any]) -> None:
        inside.set()
        free.wait(PATIENCE)

    db.on("q", hang)
    send(db, 1)
    assert inside.wait(PATIENCE)
    db._workspace.triggers.close(timeout=0.01)
    db.close()
    free.set()


# -- over HTTP ------------------------------------------------------------------------------------------------------


def test_post(db: Pond, receiver: Receiver) -> None:
    told = db.sql(f"ON q DO POST '{receiver.address}'").message
    assert told == f'from now on each result of "q" is posted to {receiver.address}'
    send(db, 1, 2)
    until(lambda: len(receiver.came) == 2)
    q = folder(db)
    assert receiver.came == [
        {"id": f"{q}:0", "query": "q", "instant": 1, "vid": 10},
        {"id": f"{q}:1", "query": "q", "instant": 2, "vid": 20},
    ]
    assert receiver.keys == [f"{q}:0", f"{q}:1"]


def test_what_is_not_2xx_is_posted_again(db: Pond, receiver: Receiver) -> None:
    receiver.answers = [500, 302, 404, 201, 503]
    db.on("q", receiver.address)
    send(db, 1, 2)
    until(lambda: len(receiver.came) == 6)
    assert [e["vid"] for e in receiver.came] == [10, 10, 10, 10, 20, 20]
    assert len(set(receiver.keys)) == 2


def test_problems_of_an_address_are_told(receiver: Receiver) -> None:
    event = {"id": "q-1:0", "query": "q", "instant": 1}
    receiver.answers = [500, 302]
    with pytest.raises(Exception, match=f"^{receiver.address} answered 500 Internal Server Error$"):
        Post(receiver.address).send(event)
    with pytest.raises(Exception, match=f"^{receiver.address} answered 302 Found$"):
        Post(receiver.address).send(event)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/in"
    with pytest.raises(Exception, match=r"^http://.*/in could not be posted to: .*[Cc]onnection refused$"):
        Post(address).send(event)


def test_a_silent_address_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(Exception, match=f"^{address} could not be posted to: timed out$"):
            Post(address, timedelta(milliseconds=50)).send({"id": "q:1"})


def test_a_posted_trigger_survives(place: Path, receiver: Receiver) -> None:
    with opened(place) as db:
        db.on("q", receiver.address)
        send(db, 1)
        until(lambda: len(receiver.came) == 1)
    with opened(place) as db:
        assert [(r["target"], r["state"], r["sent"]) for r in shown(db)] == [(receiver.address, "stopped", 1)]
        send(db, 2)
        until(lambda: len(receiver.came) == 2)
        assert shown(db)[0]["state"] == "running"
    assert [e["vid"] for e in receiver.came] == [10, 20]


def test_what_failed_before_a_restart_comes_after_it(place: Path, receiver: Receiver) -> None:
    receiver.answers = [500] * 100_000
    with opened(place) as db:
        db.on("q", receiver.address)
        send(db, 1, 2)
        until(lambda: len(receiver.came) > 2)
    with opened(place) as db:  # a reader is told what the writer met
        assert shown(db)[0]["problem"] == f"{receiver.address} answered 500 Internal Server Error"
        assert shown(db)[0]["lag"] == 2
        receiver.answers = []
        db._workspace.own()
        until(lambda: shown(db)[0]["lag"] == 0)
    assert [e["vid"] for e in receiver.came][-2:] == [10, 20]


def test_values_in_json() -> None:
    event = {
        "a": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "b": Decimal("1.50"),
        "c": float("nan"),
        "d": float("-inf"),
        "e": None,
        "f": "ö",
    }
    assert json.loads(to_json(event)) == {
        "a": "2026-01-31T12:00:00+00:00",
        "b": "1.50",
        "c": "NaN",
        "d": "-Infinity",
        "e": None,
        "f": "ö",
    }


# -- a named callable -----------------------------------------------------------------------------------------------

MODULE = """
import os
from pathlib import Path

def note(event):
    path = Path(os.environ["NOTES"])
    with path.open("a") as file:
        file.write(event["id"].split(":")[1] + "\\n")
    if os.environ.get("DIE_AT") == event["id"].split(":")[1]:
        os._exit(9)

class Deep:
    note = staticmethod(note)

number = 5
"""

PROGRAM = """
import sys, millpond
from threading import Event
db = millpond.connect(sys.argv[1], auto_archive=False)
db.append("r", [(i, i) for i in range(1, 6)])
db.advance("r", 6)
db.tick()
Event().wait(20)
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trigger_notes.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    return tmp_path / "notes"


def test_a_crash_repeats_and_skips_nothing(place: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place) as db:
        told = db.sql("ON q DO PYTHON 'trigger_notes:note'").message
        assert told == 'from now on each result of "q" is given to trigger_notes:note'
    monkeypatch.setenv("DIE_AT", "2")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(place)], check=False, timeout=60)
        assert done.returncode == 9
    monkeypatch.delenv("DIE_AT")
    with opened(place) as db:
        db._workspace.own()
        until(lambda: shown(db)[0]["lag"] == 0)
        end = db._workspace.network.outlet("q").next
    came = [int(line) for line in notes.read_text().split()]
    assert came.count(2) == 3
    assert sorted(set(came)) == list(range(end))
    assert all(later <= earlier + 1 for earlier, later in pairwise(came))


def test_a_module_that_is_gone_is_looked_for_again(place: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place) as db:
        db.on("q", "trigger_notes:Deep.note")
    monkeypatch.delitem(sys.modules, "trigger_notes")
    source = notes.parent / "trigger_notes.py"
    source.rename(notes.parent / "elsewhere.txt")
    with opened(place) as db:
        send(db, 1)
        until(lambda: shown(db)[0]["problem"] == 'module "trigger_notes" does not exist')
        (notes.parent / "elsewhere.txt").rename(source)
        until(lambda: shown(db)[0]["lag"] == 0)
    assert notes.read_text() == "0\n"


# -- definitions ----------------------------------------------------------------------------------------------------


def test_nothing(db: Pond, receiver: Receiver) -> None:
    db.on("q", receiver.address)
    db.on("q", print)
    assert db.sql("ON q DO NOTHING").message == '2 triggers of "q" dropped'
    assert db.sql("ON q DO NOTHING").message == '0 triggers of "q" dropped'
    send(db, 1)
    assert shown(db) == []
    assert receiver.came == []
    assert list((db.folder / "triggers").glob("*")) == []


def test_a_dropped_query_drops_its_triggers(db: Pond, receiver: Receiver) -> None:
    db.sql("CREATE CONTINUOUS QUERY other AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
    came: list[dict[str, Any]] = []
    db.on("q", receiver.address)
    db.on("q", print)
    db.on("other", came.append)
    old = folder(db)
    send(db, 1)
    until(lambda: [t["lag"] for t in shown(db)] == [0, 0, 0])
    db.sql("DROP CONTINUOUS QUERY q")
    assert [t["query"] for t in shown(db)] == ["other"]
    assert db._workspace.catalog.triggers == {}
    db.sql("CREATE CONTINUOUS QUERY q AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
    db.on("q", receiver.address)
    send(db, 2)
    until(lambda: len(receiver.came) == 2)
    assert [e["id"] for e in receiver.came] == [f"{old}:0", f"{folder(db)}:0"]
    assert folder(db) != old


def test_an_altered_query_keeps_its_triggers(db: Pond, receiver: Receiver) -> None:
    db.on("q", receiver.address)
    send(db, 1)
    db.sql("ALTER CONTINUOUS QUERY q SET SAMPLE INTERVAL 2")
    send(db, 2, 3, 4)
    db.sql("PAUSE CONTINUOUS QUERY q")
    until(lambda: shown(db)[0]["lag"] == 0)
    assert [e["vid"] for e in receiver.came] == [10, 20, 40]


def test_another_process_sees_triggers_and_runs_none(db: Pond, receiver: Receiver) -> None:
    db.on("q", receiver.address)
    send(db, 1)
    until(lambda: shown(db)[0]["lag"] == 0)
    with opened(db.folder) as reader:
        assert shown(reader) == shown(db)
    assert len(receiver.came) == 1


def test_a_file_nobody_names_goes(place: Path) -> None:
    (place / "triggers").mkdir()
    (place / "triggers" / "q-99.json").write_text("{}")
    with opened(place) as db:
        db._workspace.own()
    assert list((place / "triggers").iterdir()) == []


def test_a_damaged_file_sends_again(place: Path, receiver: Receiver) -> None:
    with opened(place) as db:
        db.on("q", receiver.address)
        send(db, 1, 2)
        until(lambda: len(receiver.came) == 2)
        name = next(iter(db._workspace.catalog.triggers))
    (place / "triggers" / f"{name}.json").write_text("{")
    with opened(place) as db:
        assert shown(db)[0]["problem"].startswith("its position cannot be read, so results are sent again: ")
        db._workspace.own()
        until(lambda: len(receiver.came) == 4)
    assert [e["vid"] for e in receiver.came] == [10, 20, 10, 20]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ON p DO NOTHING", 'continuous query "p" does not exist\nDetail: There is: q.'),
        ("ON qq DO POST 'http://h/'", 'continuous query "qq" does not exist\nHint: Did you mean "q"?'),
        ("ON r DO POST 'http://h/'", '"r" is a streaming table, not a continuous query'),
        (
            "ON q DO POST 'ftp://h/'",
            '"ftp://h/" is not an address to post to\nHint: Write http://<host>[:<port>]/<path>, or https://...',
        ),
        (
            "ON q DO PYTHON 'alarms'",
            "\"alarms\" does not name a callable\nHint: Write '<module>:<function>', for example 'alarms:ring'.",
        ),
        (
            "ON q DO PYTHON 'alarms_not_there:ring'",
            'module "alarms_not_there" does not exist\n'
            "Hint: Install it, or put its folder on PYTHONPATH of the process that owns the pond.",
        ),
        (
            "ON q DO PYTHON 'trigger_notes:nota'",
            'callable "nota" does not exist in module "trigger_notes"\nHint: Did you mean "note"?',
        ),
        ("ON q DO PYTHON 'trigger_notes:number'", '"trigger_notes:number" is not callable\nDetail: It is of type int.'),
        (
            "ON own DO POST 'http://h/'",
            'query "own" has a column "id", which a trigger cannot hand out\n'
            'Detail: "id" and "query" are added by the trigger itself.\n'
            "Hint: Give the column another name: SELECT ... AS <name>.",
        ),
    ],
)
def test_what_cannot_be_a_trigger(db: Pond, notes: Path, statement: str, message: str) -> None:
    if " own " in statement:
        db.sql("CREATE CONTINUOUS QUERY own AS SELECT vid AS id FROM r [NOW] SAMPLE REALTIME")
    with pytest.raises(millpond.MillpondError) as caught:
        db.sql(statement)
    assert str(caught.value) == message
    assert shown(db) == []


def test_a_trigger_is_there_once(db: Pond) -> None:
    db.on("q", "http://localhost:1/")
    with pytest.raises(CatalogError) as caught:
        db.sql("ON q DO POST 'http://localhost:1/'")
    assert str(caught.value) == (
        '"q" has a trigger to "http://localhost:1/" already\nHint: Drop it first: ON q DO NOTHING.'
    )
    with pytest.raises(CatalogError) as caught:
        db.on("q", 5)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "5 is neither a callable nor a text\nHint: Give a function, an address or '<module>:<function>'."
    )


def test_a_module_that_breaks_is_told(notes: Path) -> None:
    (notes.parent / "trigger_broken.py").write_text("import trigger_needs_this\n")
    with pytest.raises(CatalogError) as caught:
        find_callable("trigger_broken:f")
    assert str(caught.value) == (
        "module \"trigger_broken\" cannot be imported\nDetail: ModuleNotFoundError: No module named 'trigger_needs_this'"
    )
    with pytest.raises(UnknownName, match=r'module "trigger_notes\.deep" does not exist'):
        find_callable("trigger_notes.deep:f")


@pytest.mark.parametrize("good", ["http://h", "https://h:8443/a?b=c", "http://[::1]:80/", "HTTP://h/"])
def test_good_addresses(good: str) -> None:
    check_address(good)


@pytest.mark.parametrize("bad", ["", "h:80", "http://", "http:///x", "http://h:x/", "http://h:99999/", "http://u:p@h/",
                                 "http://h/a b", "http://h/\n", "file:///etc/passwd"])  # fmt: skip
def test_bad_addresses(bad: str) -> None:
    with pytest.raises(CatalogError, match="is not an address to post to"):
        check_address(bad)


# -- results that are not kept any more -----------------------------------------------------------------------------


def test_rows_that_are_gone_are_counted(tmp_path: Path) -> None:
    query = ContinuousQuery("q", "", "rstream", None, Schema.of([("v", "BIGINT"), ("instant", "BIGINT")]), "q-1", ())
    outlet = Outlet(query, threading.Condition())

    def rows(*values: int) -> pa.Table:
        return pa.table({"v": pa.array(values, pa.int64()), "instant": pa.array(values, pa.int64())})

    outlet.take(0, rows(0, 1, 2))
    outlet.take(3, rows(3, 4))
    outlet.forget(3)
    came: list[int] = []
    file = tmp_path / "t.json"
    trigger = Trigger("t", "q", "q-1", "python", "x", 1)
    runner = TriggerRunner(
        trigger, lambda: outlet, lambda: Calling(lambda e: came.append(e["v"])), file, ManualClock(), QUICK
    )
    runner.start()
    until(lambda: came == [3, 4])
    outlet.take(5, rows(5))
    until(lambda: came == [3, 4, 5])
    runner.stop(PATIENCE)
    assert (runner.reached.next, runner.reached.missed) == (6, 2)
    assert read_sealed(file) == {"next": 6, "missed": 2, "problem": None}
    outlet.take(6, rows(6))
    outlet.forget(7)
    again = TriggerRunner(trigger, lambda: outlet, lambda: Calling(came.append), file, SystemClock(), QUICK)  # type: ignore[arg-type]
    again.start()
    until(lambda: again.reached.missed == 3)
    again.stop(PATIENCE)
    assert came == [3, 4, 5]
    assert json.loads(file.read_text())["next"] == 7


def test_missed_rows_are_shown(db: Pond) -> None:
    stuck, came, tried = threading.Event(), [], []

    def slow(event: dict[str, Any]) -> None:
        tried.append(event["vid"])
        if not stuck.is_set():
            raise ValueError
        came.append(event["vid"])

    db.on("q", slow)
    for t in (1, 2, 3):
        send(db, t)
    until(lambda: shown(db)[0]["problem"] == "ValueError")
    db._workspace.network.outlet("q").forget(2)
    until(lambda: tried[-1] == 30)  # no attempt is under way that began before
    stuck.set()
    until(lambda: shown(db)[0]["lag"] == 0)
    assert came == [30]
    assert (shown(db)[0]["sent"], shown(db)[0]["missed"]) == (1, 2)


def test_the_state_of_no_triggers(db: Pond) -> None:
    assert db.sql("SHOW TRIGGERS").columns == ["query", "do", "target", "state", "sent", "lag", "missed", "problem"]
    assert isinstance(db._workspace.triggers, Triggers)
