"""Rows that another process hands over: taken once, whatever ends in between, and in order of their time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond.ingest import handover
from millpond.ingest.handover import Incoming, Request, error_in
from millpond.ingest.intake import Intake, Receipt
from millpond.pond import Pond

SCHEMA = pa.schema([pa.field("k", pa.int32()), pa.field("t", pa.int64())])


@pytest.fixture
def db(tmp_path: Path) -> Pond:
    db = millpond.connect(tmp_path / "pond", auto_archive=False)
    db.sql("CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t")
    db._workspace._incoming.close()  # requests are taken by the test
    return db


def hand_over(db: Pond, batch: int | None, times: Sequence[Sequence[int]], id: str | None = None) -> Request:
    incoming = Incoming(db.folder)
    parts = []
    for part in times:
        with incoming.new_part(SCHEMA) as (name, file):
            file.write_table(pa.table([pa.array([1] * len(part), pa.int32()), pa.array(part)], schema=SCHEMA))
        parts.append(name)
    table = db._workspace.stream("r").definition.folder
    request = Request(id or f"q-{batch}", table, "spark:q", batch, tuple(parts))
    incoming.hand_over(request)
    return request


def take(db: Pond) -> list[dict[str, object]]:
    incoming = Incoming(db.folder)
    found = []
    for id in incoming.waiting():
        incoming.take(id, db._workspace._incoming._intake_in)
        outcome = incoming.outcome(id)
        assert outcome is not None
        found.append(outcome)
        incoming.forget(id)
    return found


def times(db: Pond) -> list[int]:
    return [t for (t,) in db.sql("SELECT t FROM r ORDER BY _seq").rows()]


def test_a_batch_is_taken_in_order_of_time_and_once(db: Pond) -> None:
    hand_over(db, 0, [[5, 1], [3, 4], [2]])
    assert take(db) == [{"accepted": 5, "late": 0, "ahead": 0, "malformed": 0}]
    assert times(db) == [1, 2, 3, 4, 5]
    hand_over(db, 0, [[1, 2], [3, 4, 5]])  # tried again
    assert take(db)[0]["accepted"] == 0
    hand_over(db, 1, [[6, 7]])
    hand_over(db, 0, [[1]])
    assert sorted(o["accepted"] for o in take(db)) == [0, 2]  # type: ignore[type-var]
    assert times(db) == [1, 2, 3, 4, 5, 6, 7]
    assert not list((db.folder / "incoming").glob("*.*"))
    assert not list((db.folder / "incoming" / "parts").iterdir())


def test_a_batch_that_was_taken_in_part_goes_on(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_FRAME_ROWS", 2)
    offer = Intake.offer
    offers = 0

    def end(self: Intake, *given: Any) -> Receipt:
        nonlocal offers
        offers += 1
        if offers == 3:
            raise SystemExit(9)
        return offer(self, *given)

    monkeypatch.setattr(Intake, "offer", end)
    hand_over(db, 0, [[4, 5, 1], [3, 2]])
    with pytest.raises(SystemExit):
        take(db)
    assert times(db) == [1, 2, 3, 4]
    monkeypatch.setattr(Intake, "offer", offer)
    db.close()
    with millpond.connect(db.folder, auto_archive=False) as again:
        again._workspace.own()
        again._workspace._incoming.close()
        hand_over(again, 0, [[1, 2, 3], [4, 5]])  # Spark tries the batch again, cut in another way
        take(again)
        assert times(again) == [1, 2, 3, 4, 5]


def test_writes_without_numbers_are_told_apart_by_their_ids(db: Pond) -> None:
    hand_over(db, None, [[1]], id="a")
    take(db)
    hand_over(db, None, [[2]], id="b")
    hand_over(db, None, [[9]], id="b")
    take(db)
    assert times(db) == [1, 2]


def test_an_error_is_told_and_the_same_request_is_tried_again(db: Pond) -> None:
    incoming = Incoming(db.folder)
    request = hand_over(db, 0, [[1], [2]])
    part = incoming.folder / "parts" / request.parts[1]
    whole = part.read_bytes()
    part.write_bytes(whole[:40])
    (outcome,) = take(db)
    error = error_in(outcome)
    assert error is not None
    assert 'rows for table "r" cannot be read' in str(error)
    assert times(db) == []
    part.write_bytes(whole)
    assert [o["accepted"] for o in take(db)] == [2]
    gone = Request("q-1", "nowhere-9", "spark:q", 1, ())
    incoming.hand_over(gone)
    told = error_in(take(db)[0])
    assert told is not None
    assert "was dropped" in str(told)


def test_a_write_that_fails_after_it_was_handed_over_is_taken_all_the_same(db: Pond) -> None:
    incoming = Incoming(db.folder)
    request = hand_over(db, 0, [[1, 2]])
    with incoming.new_part(SCHEMA) as (name, _):
        pass
    incoming.give_up([*request.parts, name])
    assert not (incoming.folder / "parts" / name).exists()
    incoming.take(request.id, lambda folder: db._workspace.intake("nowhere"), lambda: True)
    assert incoming.outcome(request.id) is None, "the pond was closed meanwhile"
    assert [o["accepted"] for o in take(db)] == [2]


def test_the_owner_takes_what_comes_and_what_waits(db: Pond) -> None:
    request = hand_over(db, 0, [[1, 2]])
    db.close()
    with millpond.connect(db.folder, auto_archive=False) as again:
        again._workspace.own()
        incoming, pause = Incoming(again.folder), threading.Event()
        for _ in range(1000):
            if incoming.outcome(request.id) is not None:
                break
            pause.wait(0.01)
        assert incoming.outcome(request.id) == {"accepted": 2, "late": 0, "ahead": 0, "malformed": 0}
        assert times(again) == [1, 2]
