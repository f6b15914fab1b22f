"""Lookups by key: the right rows, from few row groups, or no answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import millpond
from millpond.arrow import arrow_schema
from millpond.errors import CorruptBlock
from millpond.table import standard
from millpond.table.lookup import Lookups
from millpond.table.store import Store

KEYS, DAYS = 5_000, 3


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> millpond.Pond:
    monkeypatch.setattr(standard, "_GROUP_ROWS", 100)
    monkeypatch.setattr(standard, "_BLOCK_ROWS", 6_000)
    pond = millpond.connect(tmp_path)
    pond.sql("CREATE STANDARD TABLE h (vid INT, day INT, name STRING, tolls BIGINT)")
    return pond


def history(order: np.ndarray) -> pa.Table:
    vid, day = np.repeat(order, DAYS), np.tile(np.arange(DAYS), len(order))
    names = pa.array([f"n{v % 7}" if v % 5 else None for v in vid])
    return pa.table({"vid": pa.array(vid, pa.int32()), "day": pa.array(day, pa.int32()), "name": names,
                     "tolls": pa.array(vid * 10 + day)})  # fmt: skip


def stored(db: millpond.Pond) -> tuple[Store, pa.Schema]:
    table = db._workspace.catalog.standard["h"]
    return standard.StandardStore(db.folder, table, db._workspace.clock).store, arrow_schema(table.columns)


def look(db: millpond.Pond, **keys: list[int]) -> pa.Table | None:
    store, schema = stored(db)
    values = {name: pa.array(v, pa.int64()) for name, v in keys.items()}
    return Lookups(store.folder).rows(store.snapshot().version, schema, values)


def test_rows_of_some_keys(db: millpond.Pond) -> None:
    whole = history(np.arange(KEYS))
    db.append("h", whole)
    for vids in ([3], [0, 17, 2_500, 4_999], [4_999, 4_999, 70_000], [-1], [5, 1 << 40]):
        found = look(db, vid=vids, day=[0, 2])
        assert found is not None
        expected = [r for r in whole.to_pylist() if r["vid"] in vids and r["day"] in (0, 2)]
        assert sorted(found.to_pylist(), key=lambda r: (r["vid"], r["day"])) == expected


def test_many_groups_are_not_read_one_by_one(db: millpond.Pond) -> None:
    db.append("h", history(np.random.default_rng(1).permutation(KEYS)))
    assert look(db, vid=[2_500]) is None


def test_rows_that_were_deleted_or_inserted_since(db: millpond.Pond) -> None:
    db.append("h", history(np.arange(KEYS)))
    store, schema = stored(db)
    lookups, keys = Lookups(store.folder), {"vid": pa.array([7, 9_000])}
    before = lookups.rows(store.snapshot().version, schema, keys)
    assert before is not None
    assert before.num_rows == DAYS
    db.sql("DELETE FROM h WHERE vid = 7 AND day = 1")
    db.sql("INSERT INTO h VALUES (9000, 1, NULL, 5)")
    store, _ = stored(db)
    after = lookups.rows(store.snapshot().version, schema, keys)
    assert after is not None
    assert sorted(after.column("tolls").to_pylist()) == [5, 70, 72]


def test_null_keys_are_nobodys(db: millpond.Pond) -> None:
    db.append("h", history(np.arange(100)))
    db.sql("INSERT INTO h VALUES (NULL, 1, 'x', 5)")
    found = look(db, vid=[0, 99])
    assert found is not None
    assert found.num_rows == 2 * DAYS


def test_a_column_that_came_later(db: millpond.Pond) -> None:
    db.append("h", history(np.arange(100)))
    db.sql("ALTER TABLE h ADD COLUMN more INT")
    assert look(db, vid=[5]) is None


def test_a_damaged_file_is_told(db: millpond.Pond) -> None:
    db.append("h", history(np.arange(KEYS)))
    store, _ = stored(db)
    for path in store.snapshot().version.files:
        whole = store.folder / path
        data = bytearray(whole.read_bytes())
        data[4:2_000] = bytes(len(data[4:2_000]))
        whole.write_bytes(data)
    with pytest.raises(CorruptBlock, match="is damaged"):
        look(db, vid=[0, 1, 2])
