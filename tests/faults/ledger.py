"""What was done to a pond and what was acknowledged, kept outside it, and the comparison of the two.

The ledger is a file of JSON lines, synced line by line: an operation before it is tried, `done` when the pond has
acknowledged it, and after a crash `taken` true or false for the one operation that was under way. Everything else
follows from the operations: rows are computed from them, never stored.

The law. After any crash: every acknowledged operation shows in full, the one under way in full or not at all, and
nothing else is there. Rows are missing only when a DELETE took them or when they are older than the history period.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import polars
import pyarrow as pa

import millpond
from millpond import Pond
from millpond.errors import RowsRejected
from millpond.table.draws import Draws
from millpond.table.work import read_file

TABLE = "readings"
HISTORY = 40
LATENESS = 5
CREATE = (
    f"CREATE STREAMING TABLE {TABLE} (at BIGINT, id BIGINT, key INT, ver INT) TIMESTAMP BY at "
    f"RANGE INTERVAL '{HISTORY}' SECOND LATENESS INTERVAL '{LATENESS}' SECOND SHARD BY key"
)
TINY: dict[str, Any] = {
    "block_rows": 2_000,
    "block_age": "200 milliseconds",
    "segment_bytes": 16_384,
    "tick": "20 milliseconds",
    "engine": "duckdb",
    "auto_archive": False,
}

Operation = dict[str, Any]


def open_pond(folder: Path, **settings: Any) -> Pond:
    return millpond.connect(folder, **{**TINY, **settings})


class Ledger:
    """Appended to by the writer; read by whoever compares."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.operations: list[Operation] = []
        self._open: Operation | None = None
        self.next_id = 0  # never offered, also counting appends that a crash lost
        for line in path.read_text().splitlines() if path.exists() else []:
            entry = json.loads(line)
            if "op" in entry:
                self._begin(entry)
            else:
                self._close(entry["taken"])
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def _begin(self, operation: Operation) -> None:
        self._open = operation
        if operation["op"] == "append":
            self.next_id = operation["first"] + sum(operation[k] for k in ("good", "late", "bad"))

    def _close(self, taken: bool) -> None:
        assert self._open is not None
        if taken:
            self.operations.append(self._open)
        self._open = None

    def _write(self, entry: Operation) -> None:
        os.write(self._handle, (json.dumps(entry) + "\n").encode())
        os.fsync(self._handle)

    @property
    def under_way(self) -> Operation | None:
        """The operation that was tried and not acknowledged."""
        return self._open

    def trying(self, operation: Operation) -> None:
        assert self._open is None
        self._write(operation)
        self._begin(operation)

    def closed(self, *, taken: bool) -> None:
        self._write({"taken": taken})
        self._close(taken)

    def has(self, kind: str) -> bool:
        return any(o["op"] == kind for o in self.operations)

    def close(self) -> None:
        os.close(self._handle)


# -- operations -----------------------------------------------------------------------------------------------------


def rows_of(operation: Operation) -> list[dict[str, Any]]:
    """The rows an append offers: good ones, then late ones, then malformed ones, each with an id of its own."""
    first, at = operation["first"], operation["at"]
    good, late, bad = operation["good"], operation["late"], operation["bad"]
    rows: list[dict[str, Any]] = []
    for i in range(good + late + bad):
        row: dict[str, Any] = {"at": at + i % 2, "id": first + i, "key": (first + i) % 7, "ver": 0}
        if operation["extra"]:
            row["extra"] = 3 * (first + i)
        if good <= i < good + late:
            row["at"] = at - LATENESS - 25
        elif i >= good + late:
            row["key"] = "seven"
        rows.append(row)
    return rows


def perform(db: Pond, ledger: Ledger, operation: Operation) -> None:
    """Do one operation and record that it was acknowledged."""
    ledger.trying(operation)
    kind = operation["op"]
    if kind == "append":
        rows: Any = rows_of(operation)
        if not operation["bad"] and operation["good"] + operation["late"] > 20:
            rows = pa.Table.from_pylist(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsRejected)
            receipt = db.append(TABLE, rows)
        assert (receipt.accepted, receipt.late, receipt.malformed) == tuple(
            operation[k] for k in ("good", "late", "bad")
        )
    elif kind == "advance":
        db.advance(TABLE, operation["at"])
    elif kind == "create":
        db.sql(f"{CREATE} WITH (shards = {operation.get('shards', 2)})")
    elif kind == "index":
        db.sql(f"CREATE INDEX by_key ON {TABLE} (key)")
    elif kind == "alter":
        db.sql(f"ALTER TABLE {TABLE} ADD COLUMN extra BIGINT")
    elif kind == "reduce":
        db.sql(f"ALTER STREAMING TABLE {TABLE} SET REDUCE BY {operation['design']}")
    elif kind == "update":
        db.sql(
            f"UPDATE {TABLE} SET ver = {operation['ver']} WHERE id >= {operation['low']} AND id < {operation['high']}"
        )
    else:
        assert kind == "delete"
        db.sql(f"DELETE FROM {TABLE} WHERE id >= {operation['low']} AND id < {operation['high']}")
    ledger.closed(taken=True)


def next_operation(ledger: Ledger, random: Random) -> Operation:
    """What a run does next: first the definitions, then mostly appends. Ids and versions are never used twice."""
    for kind in ("create", "index"):
        if not ledger.has(kind):
            return {"op": kind}
    count = sum(o["op"] == "append" for o in ledger.operations)
    at = max((o["at"] for o in ledger.operations if "at" in o), default=100)
    tried = ledger.next_id
    if not ledger.has("alter") and count >= 8 and random.random() < 0.2:
        return {"op": "alter"}
    if count >= 2 and random.random() < 0.08:
        return {"op": "reduce", "design": random.choice(["RANDOMIZE", "RANDOMIZE", "REPLICATE (30, 70)", "NONE"])}
    choice = random.random()
    if count and choice < 0.10:
        low = max(0, tried - random.randrange(1, 300))
        kind = "update" if choice < 0.06 else "delete"
        high = low + random.randrange(1, 60 if kind == "update" else 15)
        return {
            "op": kind,
            "low": low,
            "high": high,
            "ver": len(ledger.operations) + 1 + 100_000 * random.randrange(1, 9),
        }
    if count and choice < 0.14:
        return {"op": "advance", "at": at + random.randrange(1, 3)}
    if random.random() < 0.15:
        at += random.randrange(6, 12)  # into another compartment
    good = random.choice([1, 3, 10, 30, 30, 60, 600])
    late = random.choice([0, 0, 0, 1, 4]) if count else 0
    bad = random.choice([0, 0, 0, 1, 2])
    if count and random.random() < 0.05:
        good, late = 0, 2
    extra = ledger.has("alter")
    return {"op": "append", "first": tried, "good": good, "late": late, "bad": bad, "at": at, "extra": extra}


# -- what must be there ---------------------------------------------------------------------------------------------


@dataclass
class Expected:
    """The pond as the operations say, retention apart."""

    rows: dict[int, dict[str, Any]] = field(default_factory=dict)  # by row number
    accepted: int = 0
    late: int = 0
    malformed: int = 0
    rejected_ids: list[int] = field(default_factory=list)
    highest: int | None = None
    heartbeat: int | None = None

    @property
    def now(self) -> int | None:
        known = [] if self.highest is None else [self.highest - LATENESS]
        known += [] if self.heartbeat is None else [self.heartbeat]
        return max(known, default=None)


def expected(operations: list[Operation]) -> Expected:
    pond = Expected()
    for operation in operations:
        kind = operation["op"]
        if kind == "append":
            rows = rows_of(operation)
            for row in rows[: operation["good"]]:
                pond.rows[pond.accepted] = {"extra": None, **row}
                pond.accepted += 1
                pond.highest = max(row["at"], pond.highest if pond.highest is not None else row["at"])
            # Malformed rows are found first, when rows are converted; late ones after.
            rest = rows[operation["good"] :]
            pond.rejected_ids += [r["id"] for r in rest[operation["late"] :] + rest[: operation["late"]]]
            pond.late += operation["late"]
            pond.malformed += operation["bad"]
        elif kind == "advance":
            pond.heartbeat = max(operation["at"], pond.heartbeat or 0)
        elif kind in ("update", "delete"):
            for number, row in list(pond.rows.items()):
                if operation["low"] <= row["id"] < operation["high"]:
                    if kind == "delete":
                        del pond.rows[number]
                    else:
                        row["ver"] = operation["ver"]
    return pond


def check(folder: Path, ledger: Ledger) -> dict[str, Any]:
    """Compare the pond with the ledger after a crash; settles the operation that was under way. Returns its status."""
    with open_pond(folder) as db:
        if ledger.under_way is not None:
            ledger.closed(taken=_was_taken(db, ledger))
        if not ledger.has("create"):
            assert db.status()["tables"] == {}
            return db.status()
        wanted = expected(ledger.operations)
        status = db.status()["tables"][TABLE]
        table = db._workspace.stream(TABLE)
        _check_counts(db, status, wanted)
        found = db.sql(f"SELECT _seq, * FROM {TABLE} ORDER BY _seq").arrow()
        _check_rows(found, wanted, ledger)
        refused = db.sql(f"SELECT _seq, row, reason FROM {TABLE}_rejected ORDER BY _seq").arrow()
        assert refused["_seq"].to_pylist() == list(range(len(wanted.rejected_ids)))
        assert [json.loads(r)["id"] for r in refused["row"].to_pylist()] == wanted.rejected_ids
        for store, rows in ((table.rows, found), (table.rejected, refused)):
            _check_archive(store.folder, rows, store.manifest.current.position)
        _check_layout(db, set(found["_seq"].to_pylist()))
        assert (table.definition.indexed == ("key",)) == ledger.has("index")
        key = found["key"].to_pylist()[-1] if len(found) else 0
        by_key = db.sql(f"SELECT count(*) FROM {TABLE} WHERE key = {key}").rows()  # the index tells no lies
        assert by_key == [(found["key"].to_pylist().count(key),)]
        return status


def _check_layout(db: Pond, numbers: set[int]) -> None:
    """Blocks of a run share no draw and hold the rows of theirs; a reduced read finds rows of the table, each once."""
    table = db._workspace.stream(TABLE)
    draws = Draws.of_table(table.definition.folder)
    ranges: dict[str, list[tuple[int, int]]] = {}
    for file in table.rows.manifest.current.files.values():
        drawn = draws.of_rows(read_file(table.rows.folder / file.path)["_seq"].to_numpy())
        if file.run is not None and file.draws is not None:
            ranges.setdefault(file.run, []).append(file.draws)
            assert file.draws[0] <= drawn.min() <= drawn.max() < file.draws[1]
        for copy in file.copies:
            assert copy.rows == int((drawn < copy.high).sum())
            assert (table.rows.folder / copy.path).exists()
    for run, found in ranges.items():
        found.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(found)), run
    part = [n for (n,) in db.sql(f"SELECT _seq FROM {TABLE} REDUCE TO 30 PERCENT")]
    assert len(set(part)) == len(part)
    assert set(part) <= numbers


def _was_taken(db: Pond, ledger: Ledger) -> bool:
    """Whether the operation under way shows at all; the comparison then asks for all of it, or nothing."""
    operation = ledger.under_way
    assert operation is not None
    kind = operation["op"]
    if kind == "create":
        return TABLE in db._workspace.catalog.streaming
    definition = db._workspace.catalog.streaming_table(TABLE)
    if kind == "index":
        return bool(definition.indexes)
    if kind == "alter":
        return "extra" in definition.columns
    if kind == "reduce":
        return definition.reduce_by == operation["design"].split()[0].lower()
    before = expected(ledger.operations)
    table = db._workspace.stream(TABLE)
    if kind == "advance":
        return table.state.heartbeat == operation["at"]
    if kind == "append":
        return (table.next_row, table.next_rejected) != (before.accepted, len(before.rejected_ids))
    where = f"WHERE id >= {operation['low']} AND id < {operation['high']}"
    if kind == "update":
        return db.sql(f"SELECT count(*) FROM {TABLE} {where} AND ver = {operation['ver']}").rows() != [(0,)]
    there = {i for (i,) in db.sql(f"SELECT id FROM {TABLE} {where}")}
    concerned = {r["id"] for r in before.rows.values() if operation["low"] <= r["id"] < operation["high"]}
    kept = {r["id"] for r in before.rows.values() if r["id"] in concerned and r["at"] >= oldest_kept(before)}
    return not kept <= there or (bool(concerned) and not there)


def oldest_kept(wanted: Expected) -> int:
    return -(1 << 60) if wanted.now is None else wanted.now - HISTORY


def _check_counts(db: Pond, status: dict[str, Any], wanted: Expected) -> None:
    assert status["accepted"] == wanted.accepted
    assert (status["late"], status["malformed"]) == (wanted.late, wanted.malformed)
    offered = wanted.accepted + len(wanted.rejected_ids)
    assert status["accepted"] + status["late"] + status["malformed"] == offered
    assert status["rows"] == status["tail_rows"] + status["archived_rows"]
    assert status["rows"] == db.sql(f"SELECT count(*) FROM {TABLE}").rows()[0][0]
    assert db.now(TABLE) == wanted.now


def _check_rows(found: pa.Table, wanted: Expected, ledger: Ledger) -> None:
    numbers = found["_seq"].to_pylist()
    assert len(set(numbers)) == len(numbers), "a row number is there twice"
    ids = found["id"].to_pylist()
    assert len(set(ids)) == len(ids), "a row is there twice"
    assert ("extra" in found.schema.names) == ledger.has("alter")
    for row in found.to_pylist():
        number = row.pop("_seq")
        should = wanted.rows.get(number)
        assert should is not None, f"row {number} was deleted or never accepted"
        row.setdefault("extra", None)
        assert row == should
    oldest = oldest_kept(wanted)
    gone = wanted.rows.keys() - set(numbers)
    lost = [n for n in gone if wanted.rows[n]["at"] >= oldest]
    assert not lost, f"{len(lost)} acknowledged rows are lost, the first is {wanted.rows[min(lost)]}"


def _check_archive(folder: Path, rows: pa.Table, position: int) -> None:
    """The open archive, as another reader sees it, holds the pond's own archived rows."""
    mine = polars.from_arrow(rows.filter(pa.array([n < position for n in rows["_seq"].to_pylist()], pa.bool_())))
    assert isinstance(mine, polars.DataFrame)
    theirs = polars.read_delta(str(folder)).select(mine.columns).sort("_seq")
    assert theirs.equals(mine)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} seconds for {what}"
        time.sleep(0.002)
