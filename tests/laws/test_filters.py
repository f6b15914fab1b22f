"""Laws 1, 2 and 6 for conditions on numbers of every type: a continuous query finds the rows that the engine finds in the table,
in the tail and in the archive, NaN too."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import millpond
from tests.unit.sql.conditions import CONDITIONS, ROWS, TYPES, sample


@given(
    texts=st.lists(CONDITIONS, min_size=1, max_size=6, unique=True),
    cut=st.integers(0, ROWS),
    shards=st.sampled_from([1, 3]),
    archived=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_filters_find_the_rows_that_the_engine_finds(texts: list[str], cut: int, shards: int, archived: bool) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    with (
        tempfile.TemporaryDirectory() as folder,
        millpond.connect(Path(folder) / "pond", auto_archive=False, engine="duckdb", block_rows=16) as db,
    ):
        db.sql(f"CREATE STREAMING TABLE s (id BIGINT, {columns}) TIMESTAMP BY id WITH (shards = {shards})")
        for number, text in enumerate(texts):
            db.sql(f"CREATE CONTINUOUS QUERY now{number} AS SELECT id FROM s [NOW] WHERE {text} SAMPLE REALTIME")
            select = f"SELECT flag, count(*) AS c FROM s [UNBOUNDED] WHERE {text} GROUP BY flag"
            db.sql(f"CREATE CONTINUOUS QUERY upto{number} AS {select} SAMPLE INTERVAL '{ROWS}' SECOND")
        for part in (sample().slice(0, cut), sample().slice(cut)):
            db.append("s", part)
            if archived:
                db.archive()
            db.tick()
        db.advance("s", 2 * ROWS)
        db.tick()
        for number, text in enumerate(texts):
            found = db.sql(f"SELECT id, flag FROM s WHERE {text} ORDER BY id").rows()
            assert [row[0] for row in _fetched(db, f"now{number}")] == [row[0] for row in found], text
            counts: dict[Any, int] = {}
            for _, flag in found:
                counts[flag] = counts.get(flag, 0) + 1
            assert {row[0]: row[1] for row in _fetched(db, f"upto{number}") if row[2] == ROWS} == counts, text


def _fetched(db: millpond.Pond, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in db.resume(name).fetch().rows()]
