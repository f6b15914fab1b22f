"""Laws about reduced reads: whatever the layout, everybody sees every row once, and estimates tell the truth at their rate."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable

import millpond
from millpond import Pond

ROWS = 40_000
DESIGNS = ["RANDOMIZE", "REPLICATE (20, 40, 60, 80)", "LAZY", "NONE"]
COLUMNS = "(vid INT, seg INT, speed INT, amount DOUBLE, t BIGINT) TIMESTAMP BY t"
EVERYTHING = "SELECT count(*), count(DISTINCT vid), sum(speed), min(t), max(t) FROM readings"


def readings(count: int = ROWS, seed: int = 1, first: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "vid": random.integers(0, 5_000, count).astype("int32"),
            "seg": random.integers(0, 4, count).astype("int32"),
            "speed": random.integers(0, 120, count).astype("int32"),
            "amount": random.lognormal(3, 1, count),
            "t": (first + np.arange(count)) // 50,
        }
    )


def pond(path: Path, design: str, *, archived: int = 36_000, **settings: object) -> Pond:
    settings = {"auto_archive": False, "shards": 2, "block_rows": 20_000, **settings}
    db = millpond.connect(path / "pond", **settings)
    db.sql(f"CREATE STREAMING TABLE readings {COLUMNS} REDUCE BY {design}")
    rows = readings()
    for start in range(0, archived, 12_000):
        db.append("readings", rows.slice(start, min(12_000, archived - start)))
        db.archive()
    if archived < ROWS:
        db.append("readings", rows.slice(archived))
    return db


def archive_of(db: Pond) -> Path:
    (folder,) = (db.folder / "tables").iterdir()
    return folder / "archive"


def open_rows(db: Pond) -> list[tuple[int, ...]]:
    """What others see in the open archive."""
    files = DeltaTable(str(archive_of(db))).file_uris()
    return duckdb.sql(f"SELECT _seq FROM read_parquet({files})").fetchall() if files else []


@pytest.mark.parametrize("design", DESIGNS)
def test_everybody_sees_every_row_once(tmp_path: Path, design: str) -> None:
    rows = readings()
    wanted = (ROWS, len(set(rows["vid"].to_pylist())), sum(rows["speed"].to_pylist()), 0, (ROWS - 1) // 50)
    with pond(tmp_path, design) as db:
        assert db.sql(EVERYTHING).rows() == [wanted]
        db.archive()
        assert db.sql(EVERYTHING).rows() == [wanted]
        assert sorted(n for (n,) in open_rows(db)) == list(range(ROWS))
        globbed = duckdb.sql(f"SELECT count(*) FROM '{archive_of(db)}/c*/*.parquet'").fetchall()
        assert globbed == [(ROWS,)], "copies are not taken for rows by who reads the folder"
    with millpond.connect(tmp_path / "pond") as db:
        assert db.sql(EVERYTHING).rows() == [wanted]


def test_a_table_is_converted_while_it_runs(tmp_path: Path) -> None:
    with pond(tmp_path, "NONE") as db:
        wanted = db.sql(EVERYTHING).rows()
        for design in [*DESIGNS, "REPLICATE (50)", "RANDOMIZE", "NONE"]:
            db.sql(f"ALTER STREAMING TABLE readings SET REDUCE BY {design}")
            assert db.sql(EVERYTHING).rows() == wanted
            db.archive()
            assert db.sql(EVERYTHING).rows() == wanted
            assert sorted(n for (n,) in open_rows(db)) == list(range(ROWS))
            files = db._workspace.stream("readings").rows.manifest.current.files.values()
            assert {f.run is not None for f in files} == {design == "RANDOMIZE"}
            levels = {"REPLICATE (20, 40, 60, 80)": 4, "REPLICATE (50)": 1}.get(design, 0)
            assert {len(f.copies) for f in files} == {levels}


@pytest.mark.parametrize("design", DESIGNS)
def test_updates_and_deletes_keep_a_sample_a_sample(tmp_path: Path, design: str) -> None:
    with pond(tmp_path, design) as db:
        db.sql("DELETE FROM readings WHERE vid < 1000")
        db.sql("UPDATE readings SET speed = 1000 WHERE seg = 1")
        (exact,) = db.sql("SELECT count(*), avg(speed) FROM readings WHERE seg = 1").rows()
        found = db.sql("SELECT count(*) AS n, avg(speed) AS s FROM readings REDUCE TO 20 PERCENT WHERE seg = 1")
        n, low, high, s, *_ = found.rows()[0]
        assert s == pytest.approx(1000)
        assert exact[1] == 1000
        assert 0.8 * exact[0] < low <= n <= high < 1.2 * exact[0]
        assert db.sql("SELECT count(*) FROM readings WHERE vid < 1000").rows() == [(0,)]


@pytest.mark.parametrize("design", DESIGNS)
def test_estimates_tell_the_truth_at_their_rate(tmp_path: Path, design: str) -> None:
    """Many tables of the same rows: each has other draws."""
    rows = readings()
    match = rows["speed"].to_numpy() > 60
    truth = (
        int(match.sum()),
        float(rows["amount"].to_numpy()[match].sum()),
        float(rows["amount"].to_numpy()[match].mean()),
    )
    hits: list[list[bool]] = []
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1, block_rows=1 << 20) as db:
        for trial in range(25):
            db.sql(f"CREATE STREAMING TABLE readings{trial} {COLUMNS} REDUCE BY {design}")
            db.append(f"readings{trial}", rows)
        db.archive()
        for trial in range(25):
            found = db.sql(
                f"SELECT count(*), sum(amount), avg(amount) FROM readings{trial} REDUCE TO 12 PERCENT WHERE speed > 60"
            )
            values = found.rows()[0]
            hits.append([values[3 * i + 1] <= truth[i] <= values[3 * i + 2] for i in range(3)])
            assert found.reduction is not None
            assert found.reduction.interval == 0.95
    assert 0.85 <= np.mean(hits) <= 1.0


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("percent", [1, 10, 25, 50, 75])
def test_bytes_fall_with_the_fraction(tmp_path: Path, design: str, percent: int) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql(f"CREATE STREAMING TABLE readings {COLUMNS} REDUCE BY {design}")
        db.append("readings", readings(300_000))
        db.archive()
        found = db.sql(f"SELECT avg(speed) FROM readings REDUCE TO {percent} PERCENT").reduction
        assert found is not None
        if design == "RANDOMIZE":
            assert found.bytes <= percent / 100 * 1.15 * found.bytes_in_all + 2_000
        elif design.startswith("REPLICATE"):
            level = next((k for k in (20, 40, 60, 80) if k >= percent), 100)
            assert found.bytes < level / 100 * 1.2 * found.bytes_in_all
        else:
            assert found.bytes == found.bytes_in_all
        assert abs(found.fraction - percent / 100) < 0.2


def test_a_lazy_table_gets_its_copies_by_being_read(tmp_path: Path) -> None:
    with pond(tmp_path, "LAZY", archived=ROWS) as db:

        def read(percent: int) -> float:
            found = db.sql(f"SELECT avg(speed) FROM readings REDUCE TO {percent} PERCENT").reduction
            assert found is not None
            return found.bytes / found.bytes_in_all

        assert read(20) == 1.0
        db.archive()
        assert read(20) < 0.25
        assert read(50) == 1.0, "the copies are too thin for it"
        assert read(5) < 0.25
        db.archive()
        assert read(5) < 0.1
        db.append("readings", readings(12_000, seed=2, first=ROWS))
        db.archive()
        assert read(5) < 0.1, "what comes later goes to both"
        db.archive()
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        assert db.sql("SELECT count(*) FROM readings").rows() == [(ROWS + 12_000,)]
        assert db.sql("SELECT avg(speed) FROM readings REDUCE TO 5 PERCENT").reduction.bytes > 0  # type: ignore[union-attr]
        for _ in range(20):
            db.sql("SELECT avg(speed) FROM readings REDUCE TO 60 PERCENT")
        db.archive()
        found = db.sql("SELECT avg(speed) FROM readings REDUCE TO 60 PERCENT").reduction
        assert found is not None
        assert found.bytes < 0.7 * found.bytes_in_all, "made anew when most reads want more"


def test_within_reads_what_the_error_takes_and_keeps_it(tmp_path: Path) -> None:
    with pond(tmp_path, "RANDOMIZE", archived=ROWS, block_rows=1 << 20) as db:
        (exact,) = db.sql("SELECT avg(speed) FROM readings").rows()
        fractions = []
        for error in (20, 5, 3):
            found = db.sql(f"SELECT avg(speed) FROM readings WITHIN {error} PERCENT CONFIDENCE 99")
            value, low, high = found.rows()[0]
            assert low <= value <= high
            assert abs(value - exact[0]) <= error / 100 * value
            assert found.reduction is not None
            assert found.reduction.interval == 0.99
            fractions.append(found.reduction.fraction)
        assert fractions == sorted(fractions)
        everything = db.sql("SELECT vid, sum(amount) AS s FROM readings GROUP BY vid ORDER BY vid WITHIN 1 PERCENT")
        wanted = db.sql("SELECT vid, sum(amount) AS s FROM readings GROUP BY vid ORDER BY vid").rows()
        assert everything.reduction is not None
        assert everything.reduction.fraction == 1.0
        assert [(v, pytest.approx(s)) for v, s in wanted] == [(v, s) for v, s, _, _ in everything.rows()]


def test_time_bounds_and_indices_skip_in_a_reduced_table_too(tmp_path: Path) -> None:
    with pond(tmp_path, "RANDOMIZE") as db:
        db.sql("CREATE INDEX ON readings (vid)")
        wanted = readings()
        vid, t = wanted["vid"].to_numpy(), wanted["t"].to_numpy()
        assert db.sql("SELECT count(*) FROM readings WHERE vid = 77").rows() == [(int((vid == 77).sum()),)]
        assert db.sql("SELECT count(*) FROM readings WHERE t < 100").rows() == [(int((t < 100).sum()),)]
        found = db.sql("SELECT count(*) FROM readings REDUCE TO 25 PERCENT WHERE t < 100").reduction
        assert found is not None
        assert found.rows_in_all < ROWS / 2


def test_retention_takes_whole_runs(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql(f"CREATE STREAMING TABLE readings {COLUMNS} RANGE INTERVAL 400 SECOND REDUCE BY RANDOMIZE")
        for start in range(0, ROWS, 4_000):
            db.append("readings", readings().slice(start, 4_000))
            db.archive()
        db.archive()
        (count,) = db.sql("SELECT count(*) FROM readings").rows()[0]
        assert count < 26_000
        files = db._workspace.stream("readings").rows.manifest.current.files.values()
        whole = {f.run: 0 for f in files}
        for file in files:
            assert file.draws is not None
            whole[file.run] += file.draws[1] - file.draws[0]
        assert set(whole.values()) == {(1 << 31) - 1}
