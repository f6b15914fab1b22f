"""A crash is a pause, for kept results: the writer is killed between a file, its commit, and the deletion of the log, and
whenever else; then every result of the RANGE is there once, and a client that kept its position misses none.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import millpond
from millpond import failpoints
from millpond.errors import ResultsGone
from tests.faults.results_writer import OPTIONS, RANGE, opened, step

PROGRAM = Path(__file__).with_name("results_writer.py")
SOURCE = Path(failpoints.__file__).parents[1]
PLACES = [
    "results.before_commit",
    "results.after_commit",
    "results.before_delete",
    "results.after_delete",
    "results.before_expiry",
    "results.after_write",
    "results.after_sync",
    "block.after_file",
    "removal.after_delete",
    "checkpoint.after_write",
    "checkpoint.after_delete",
    "file.before_rename",
    "file.after_rename",
]
QUICK = ["results.before_commit", "results.after_commit", "results.after_delete", "results.before_expiry"]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """`opened` changes limits of modules; afterwards they are as they were."""
    from millpond.results import outlet
    from millpond.table import manifest

    kept = outlet.KEPT_BYTES, outlet.FILE_BYTES, outlet._LOOSE, manifest.CHECKPOINT_EVERY, manifest._KEPT_COMMITS
    yield
    outlet.KEPT_BYTES, outlet.FILE_BYTES, outlet._LOOSE, manifest.CHECKPOINT_EVERY, manifest._KEPT_COMMITS = kept


class Client:
    """Comes back after every crash, with nothing but its position; what it saw is noted."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, int]] = []
        self.missed = 0
        self.position = -1

    def look(self, db: millpond.Pond) -> None:
        cursor = db.resume("kept", after=self.position)
        try:
            for batch in cursor:
                self.seen += batch.rows()
                self.position = batch.position
        except ResultsGone:  # it was away for longer than the range: on a busy machine that is a moment
            first = db._workspace.network.outlet("kept").first
            newest = db.sql(f"SELECT max(t) FROM r WHERE n < {first}").rows()[0][0]
            assert newest < db.now("kept") - RANGE
            self.missed += first - self.position - 1
            self.position = first - 1

    def check(self, rows: list[tuple[int, int]]) -> None:
        """It saw each once and in order, but for those it was told of."""
        assert self.position == len(rows) - 1
        assert len(self.seen) == len(rows) - self.missed
        assert self.seen == [(n, rows[n][1], n) for n, _, _ in self.seen]
        assert all(a < b for (a, *_), (b, *_) in pairwise(self.seen))


def create(folder: Path) -> None:
    with opened(folder) as db:
        db.sql("CREATE STREAMING TABLE r (n INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE STREAMING VIEW kept RANGE INTERVAL '{RANGE}' SECOND AS SELECT n FROM r [NOW] SAMPLE REALTIME")
        step(db, Random(0))


def killed(folder: Path, seed: int, place: str, client: Client) -> bool:
    """Whether the writer came to the place; without a place it is killed at some moment. A client looks on."""
    random = Random(seed)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    if place:
        environment["MILLPOND_FAILPOINTS"] = f"{place}=kill@{random.choice([1, 2, 4])}"
    command = [sys.executable, str(PROGRAM), str(seed), str(folder), "60" if place else "100000"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        limit = time.monotonic() + (60.0 if place else random.random())
        with millpond.connect(folder, **OPTIONS) as db:
            while time.monotonic() < limit and writer.poll() is None:
                client.look(db)
                compare_range(db)
        writer.kill()
        _, said = writer.communicate(timeout=60)
    assert writer.returncode in (-signal.SIGKILL, 0), said
    return writer.returncode != 0


def compare_range(db: millpond.Pond) -> None:
    """What a reader sees at any moment: the range, without gap or repeat."""
    rows = sorted(db.sql("SELECT n, instant, _seq FROM kept").rows())
    assert all(n == number for n, _, number in rows)
    assert [row[0] for row in rows] == list(range(rows[0][0], rows[0][0] + len(rows))) if rows else True


def compare(folder: Path, client: Client) -> None:
    with opened(folder) as db:
        db.tick()
        rows = sorted(db.sql("SELECT n, t FROM r").rows())
        assert [n for n, _ in rows] == list(range(len(rows)))
        now = db.now("kept")
        for _ in range(2):  # and a second time, when what is due has moved
            assert sorted(db.sql("SELECT n, instant FROM kept").rows()) == [r for r in rows if r[1] >= now - RANGE]
            assert db._workspace.network.keeper.settle()
            assert db._workspace.network.outlet("kept").problem is None
        for _ in range(2):
            client.look(db)
        client.check(rows)
        since = db.resume("kept", since=now - RANGE).fetch().rows()
        assert since == [(n, t, n) for n, t in rows if t >= now - RANGE]


def rounds(folder: Path, seed: int, places: list[str]) -> set[str]:
    """Returns the places that were reached."""
    create(folder)
    client = Client()
    reached = set()
    for number, place in enumerate(places):
        if killed(folder, 100 * seed + number, place, client):
            reached.add(place)
        compare(folder, client)
    return reached


def test_a_few_kills(tmp_path: Path) -> None:
    assert rounds(tmp_path / "pond", 0, QUICK) == set(QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_kills_everywhere(tmp_path: Path, seed: int) -> None:
    places = [*PLACES, *[""] * 6]
    Random(seed).shuffle(places)
    missed = set(places) - rounds(tmp_path / "pond", seed, places)
    assert missed <= {"removal.after_delete"}  # a removed file stays for minutes


def test_a_folder_without_a_first_commit_is_taken_up(tmp_path: Path) -> None:
    create(tmp_path / "pond")
    with opened(tmp_path / "pond") as db:
        (tmp_path / "pond" / "results" / db._workspace.catalog.query("kept").folder / "_delta_log").mkdir(parents=True)
    with opened(tmp_path / "pond") as db:
        for number in range(12):
            step(db, Random(number))
        assert db._workspace.network.keeper.settle()
        assert db._workspace.network.outlet("kept").archive.holds  # type: ignore[union-attr]
    compare(tmp_path / "pond", Client())
