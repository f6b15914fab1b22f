"""The application in SQL against the validator: whatever the city, the batches, the ticks and the restarts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import millpond
from linear_road import application, generate, records, traffic
from linear_road.answers import Clock, Writer
from linear_road.driver import Handed, seconds_of
from linear_road.validator import Verdict, validate
from tests.linear_road.reference import SmallCity, random_city, write

FILES = {"input": records.INPUT, "tolls": records.TOLLS, "segments": records.SEGMENT_STATISTICS}


def answer(folder: Path, paths: dict[str, Path], random: Random, *, restart: float = 0.1) -> Verdict:
    """Let the application answer an input, in batches of a few seconds, with restarts, and judge its output."""
    incoming = folder / "incoming"
    incoming.mkdir()
    application.load_segments(paths["segments"], folder / "means")
    db = millpond.connect(folder / "pond", shards=random.choice([1, 2]), auto_archive=False)
    application.create(db, incoming, folder / "means")
    for feed in ("reports_from_lr_input", "requests_from_lr_input"):
        db.sql(f"DROP FEED {feed}")
    application.load_tolls(db, paths["tolls"])
    clock = Clock()
    writer = Writer(db, folder, clock)
    due = random.randint(1, 40)
    for number, (second, rows) in enumerate(seconds_of(paths["input"])):
        clock.learn([*[Handed(0, 0, 0, 0, 0)] * number, Handed(second, second, 0.0, 0.0, rows.num_rows)])
        offer(db, rows, second)
        due -= 1
        if due <= 0:
            due = random.randint(1, 40)
            db.tick()
            writer.write()
        if random.random() < restart / 10:
            writer.close()
            db.close()
            db = millpond.connect(folder / "pond", auto_archive=False)
            writer = Writer(db, folder, clock)
    db.tick()
    writer.write()
    writer.close()
    db.close()
    return validate(
        paths["input"], folder / "output.csv", tolls=paths["tolls"], segments=paths["segments"], late_ok=True
    )


def offer(db: millpond.Pond, rows: pa.Table, second: int) -> None:
    """What the two feeds do with a file of one second."""
    report = pc.equal(rows["Type"], records.POSITION)
    columns = {"reports": ["VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos", "Time"],
               "requests": ["Type", "VID", "XWay", "QID", "Sinit", "Send", "DOW", "TOD", "Day", "Time"]}  # fmt: skip
    for table, names in columns.items():
        mine = rows.filter(report if table == "reports" else pc.invert(report)).select(names)
        if mine.num_rows:
            db.append(table, mine.rename_columns(["t" if n == "Time" else n.lower() for n in names]))
        db.advance(table, second + 1)


def files_of(city: SmallCity, folder: Path) -> dict[str, Path]:
    rows = {"input": city.input, "tolls": city.tolls, "segments": city.segments}
    return {name: write(folder / f"{name}.csv", rows[name], schema) for name, schema in FILES.items()}


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 40))])
def test_every_answer_to_a_random_city_is_right(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    city = random_city(random, start=random.choice([0, 600]), minutes=4)
    verdict = answer(tmp_path, files_of(city, tmp_path), random)
    assert verdict.ok, str(verdict)


def test_every_answer_to_simulated_traffic_is_right(tmp_path: Path) -> None:
    """With tolls, accidents and charges: half an expressway in a busy hour."""
    config = traffic.TrafficConfig(xways=0.5, minutes=3, start_minute=100, seed=5)
    paths = generate.generate(config, tmp_path, days=3)
    verdict = answer(tmp_path, paths, Random(1), restart=0.05)
    assert verdict.ok, str(verdict)
    assert all(t.expected for t in verdict.types)
