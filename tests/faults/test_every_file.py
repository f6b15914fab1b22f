"""Every durable file of a pond is damaged in turn, in every way: the answer is right, or it is said what is wrong.

A pond with one of everything is made once and copied for each case. After the damage: questions about a table either have the
right answer or raise an error of ours; what a query sent is right, or the query tells a problem; SHOW and status always
work; and a table that has nothing to do with the file never notices. Only the catalog and the marker concern the whole pond.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millpond import Pond
from millpond.errors import MillpondError, PondError
from tests.faults.ledger import open_pond, wait_until

OF_THE_POND = ("catalog.json", "millpond.json", "writer.sign")
QUESTIONS = {
    "t": "SELECT id, name FROM t",
    "t_rejected": "SELECT reason, row FROM t_rejected",
    "fed": "SELECT id FROM fed",
    "names": "SELECT id, name FROM names",
    "u": "SELECT id FROM u",
}
QUERIES = ("q", "joined", "of_u")


def make(folder: Path) -> None:
    """A pond with one of everything, all of it partly in logs and partly in archives."""
    source = folder.parent / "source"
    source.mkdir()
    (source / "a.csv").write_text("1,1\n2,2\n")
    with open_pond(folder) as db:
        for table in ("t", "u"):
            db.sql(
                f"CREATE STREAMING TABLE {table} (at BIGINT, id BIGINT, name STRING) TIMESTAMP BY at SHARD BY id "
                "WITH (shards = 2)"
            )
        db.sql("CREATE INDEX ON t (id)")
        db.sql("CREATE STANDARD TABLE names (id BIGINT, name STRING)")
        db.sql("INSERT INTO names VALUES (1, 'one'), (2, 'two')")
        db.sql("INSERT INTO names VALUES (3, 'three')")
        db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT id AS v FROM t [NOW] SAMPLE REALTIME")
        db.sql("CREATE CONTINUOUS QUERY of_u RANGE UNBOUNDED AS SELECT id FROM u [NOW] SAMPLE REALTIME")
        db.sql(
            "CREATE CONTINUOUS QUERY joined RANGE UNBOUNDED AS SELECT ISTREAM t.id, n.name FROM t [INTERVAL 5] JOIN names n "
            "ON t.id = n.id SAMPLE REALTIME"
        )
        db.sql("ON q DO PYTHON 'operator:truth'")
        db.sql(f"CREATE SOURCE files (at BIGINT, id BIGINT) FROM FILES '{source}' FORMAT CSV")
        db.sql("CREATE STREAMING TABLE fed (at BIGINT, id BIGINT) TIMESTAMP BY at")
        for first in (0, 10, 20):
            for table in ("t", "u"):
                rows = [{"at": i, "id": i, "name": f"name {i}"} for i in range(first, first + 10)]
                db.append(table, rows)
                db.append(table, [{"at": first - 5, "id": 0, "name": "late"}])
                db.advance(table, first + 10)
            db.tick()
            if first == 10:
                db._workspace.rounds.archive()
        db.sql("INSERT INTO fed SELECT at, id FROM files")
        wait_until(lambda: db.sql("SELECT count(*) FROM fed").rows() == [(2,)], "the feed")
        wait_until(lambda: db.status()["triggers"][0]["lag"] == 0, "the trigger")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("every_file") / "pond"
    make(folder)
    return folder


@pytest.fixture(scope="module")
def expected(whole: Path) -> dict[str, Counter[Any]]:
    copy = whole.with_name("expected")
    shutil.copytree(whole, copy)
    with open_pond(copy) as db:
        return {**{k: Counter(db.sql(s).rows()) for k, s in QUESTIONS.items()}, **{k: sent(db, k) for k in QUERIES}}


def sent(db: Pond, query: str) -> Counter[Any]:
    return Counter(db.resume(query).fetch().rows())


def files_of(pond: Path) -> list[Path]:
    """The durable files: not the lock, nor what a run leaves for itself."""
    found = [p.relative_to(pond) for p in pond.rglob("*") if p.is_file()]
    return sorted(p for p in found if p.name != "writer.lock" and p.parts[0] not in ("run", "shards"))


def flip_at(share: float) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        if data:
            data[min(int(share * len(data)), len(data) - 1)] ^= 4
            path.write_bytes(data)

    return flip


def cut_to(share: float) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    return cut


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], None]] = {
    **{f"flip at {share}": flip_at(share) for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)},
    **{f"cut to {share}": cut_to(share) for share in (0.0, 0.5, 0.99)},
    "delete": Path.unlink,
    "folder": replace_by_folder,
}
SAMPLE = ("flip at 0.4", "cut to 0.5", "delete", "folder")


def told(ask: Callable[[], object]) -> str | None:
    """What one of our errors says, if there is one; any other exception fails the test."""
    try:
        ask()
    except MillpondError as error:
        return str(error)
    return None


def check(folder: Path, file: Path, expected: dict[str, Counter[Any]]) -> None:
    try:
        db = open_pond(folder)
    except PondError:
        assert file.name in OF_THE_POND, "damage of a table keeps the pond from opening"
        return
    with db:
        for owner in (False, True):
            if owner and told(db._workspace.own) is not None:
                assert file.name in OF_THE_POND, "damage of a table keeps the pond from being written"
                return
            for name, question in QUESTIONS.items():
                found: list[Counter[Any]] = []
                error = told(lambda q=question, f=found: f.append(Counter(db.sql(q).rows())))  # type: ignore[misc]
                if error is None:
                    assert found[0] == expected[name], f"{name} is not what it was, and nobody says so"
            for statement in ("SHOW TABLES", "SHOW CONTINUOUS QUERIES", "SHOW TRIGGERS", "SHOW FEEDS", "SHOW REJECTED"):
                db.sql(statement)
            problems = {name: query["problem"] for name, query in db.status()["queries"].items()}
            for query in QUERIES:
                rows: list[Counter[Any]] = []
                error = told(lambda q=query, r=rows: r.append(sent(db, q)))  # type: ignore[misc]
                if error is None and problems[query] is None:
                    assert rows[0] == expected[query], f"{query} has not sent what it had, and tells no problem"
        for feed in db._workspace.catalog.feeds.values():
            told(lambda f=feed: db._workspace.feeds.start(f))  # type: ignore[misc]
        told(db.tick)
        if not concerns_u(file):
            assert Counter(db.sql(QUESTIONS["u"]).rows()) == expected["u"]
            db.append("u", [{"at": 100, "id": 100, "name": "new"}])
            db.advance("u", 101)
            if told(db.tick) is not None:
                assert file.parts[0].startswith("results"), "damage of a table keeps all queries from being evaluated"
                return
            # If results are lost, that is told as its problem, and whoever comes to them gets an error.
            assert problems["of_u"] is not None or sent(db, "of_u")[(100, 100, expected["of_u"].total())]
            db.sql("CREATE STREAMING TABLE another (at BIGINT) TIMESTAMP BY at; DROP TABLE another")
    with open_pond(folder) as again:
        for question in QUESTIONS.values():
            told(lambda q=question: again.sql(q))  # type: ignore[misc]


def concerns_u(file: Path) -> bool:
    return len(file.parts) > 1 and file.parts[1].startswith("u-")


def test_a_sample_of_files(whole: Path, expected: dict[str, Counter[Any]], tmp_path: Path) -> None:
    """One file of each kind, damaged in one way each."""
    chosen = {(f.parts[0], f.parent.name, f.suffix): f for f in reversed(files_of(whole))}
    for number, file in enumerate(chosen.values()):
        try_out(whole, expected, tmp_path, file, SAMPLE[number % len(SAMPLE)])


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_file(whole: Path, expected: dict[str, Counter[Any]], tmp_path: Path, damage: str) -> None:
    for file in files_of(whole):
        try_out(whole, expected, tmp_path, file, damage)


def try_out(whole: Path, expected: dict[str, Counter[Any]], tmp_path: Path, file: Path, damage: str) -> None:
    copy = tmp_path / "pond"
    shutil.copytree(whole, copy)
    DAMAGES[damage](copy / file)
    try:
        check(copy, file, expected)
    except BaseException as error:
        error.add_note(f"{damage}: {file}")
        raise
    shutil.rmtree(copy)
