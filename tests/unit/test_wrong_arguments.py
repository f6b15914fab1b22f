"""What is handed to millpond by mistake gives its own errors, never a raw one: arguments, and files of the wrong kind."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import millpond


@pytest.mark.parametrize("path", [None, 5, b"pond", []])
def test_connect_to_what_is_no_path(path: Any) -> None:
    with pytest.raises(millpond.NotAPond) as caught:
        millpond.connect(path)
    assert str(caught.value) == f'a pond is a folder, not {path!r}\nHint: Give its path: connect("traffic").'


@pytest.mark.parametrize("text", [5, None, b"SELECT 1", ["SELECT 1"]])
def test_sql_that_is_no_text(text: Any, tmp_path: Path) -> None:
    with millpond.connect(tmp_path) as db, pytest.raises(millpond.TypeMismatch) as caught:
        db.sql(text)
    assert str(caught.value) == f'SQL is a text, not {text!r}\nHint: Write db.sql("SELECT ...").'


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT 1e", "1e"),
        ("SELECT .1.", ".1."),
        ("SELECT a.1.5 FROM t", ".1.5"),
        ("INSERT INTO t VALUES (1, 2e)", "2e"),
    ],
)
def test_a_number_that_cannot_be_read(sql: str, place: str, tmp_path: Path) -> None:
    with millpond.connect(tmp_path) as db, pytest.raises(millpond.SqlSyntaxError) as caught:
        db.sql(sql)
    assert caught.value.primary == "number cannot be read"
    assert caught.value.span is not None
    assert sql[caught.value.span.start : caught.value.span.end] == place


def filled(folder: Path) -> None:
    with millpond.connect(folder) as db:
        db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE TABLE u (a INT)")
        db.sql("INSERT INTO u VALUES (1)")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT v FROM s [NOW] SAMPLE INTERVAL '1' SECOND")
        db.append("s", [(1, 1), (2, 5)])
        db.tick()


def use(folder: Path) -> None:
    with millpond.connect(folder) as db:
        db.sql("SELECT * FROM s")
        db.sql("SELECT * FROM u")
        db.append("s", [(3, 9)])
        db.tick()
        db.archive()
        db.sql("INSERT INTO u VALUES (2)")


FILES = ["catalog.json", "millpond.json", "writer.lock", "writer.sign", "tables/s-*/log/*.log",
         "tables/s-*/*/_delta_log/*.json", "standard/*/_delta_log/*.json", "standard/*/*/*.parquet"]  # fmt: skip
FOLDERS = [
    "results",
    "tables",
    "tables/s-*",
    "tables/s-*/log",
    "tables/s-*/archive",
    "standard",
    "standard/*/_delta_log",
]


@pytest.mark.parametrize("pattern", FILES)
def test_a_folder_where_a_file_is_expected(pattern: str, tmp_path: Path) -> None:
    filled(tmp_path / "pond")
    [first, *_] = sorted((tmp_path / "pond").glob(pattern))
    first.unlink()
    first.mkdir()
    with pytest.raises(millpond.PondError):
        use(tmp_path / "pond")


def test_a_folder_where_a_file_of_results_is_expected(tmp_path: Path) -> None:
    filled(tmp_path / "pond")
    [first] = (tmp_path / "pond").glob("results/*.results")
    first.unlink()
    first.mkdir()
    use(tmp_path / "pond")  # the log of results goes on, and the loss is told
    with millpond.connect(tmp_path / "pond") as db:
        shown = db.sql("SHOW CONTINUOUS QUERIES").arrow()
    assert shown.column("problem").to_pylist() == ["results from number 0 on are missing from the result log"]


@pytest.mark.parametrize("pattern", FOLDERS)
def test_a_file_where_a_folder_is_expected(pattern: str, tmp_path: Path) -> None:
    filled(tmp_path / "pond")
    [first, *_] = sorted((tmp_path / "pond").glob(pattern))
    shutil.rmtree(first)
    first.write_text("")
    with pytest.raises(millpond.PondError):
        use(tmp_path / "pond")


def test_what_is_of_the_wrong_kind_is_named(tmp_path: Path) -> None:
    filled(tmp_path / "pond")
    lock, log = tmp_path / "pond/writer.lock", tmp_path / "pond/results"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(millpond.PondError) as caught:
        use(tmp_path / "pond")
    hint = "Hint: Move it away, and restore what was there from a copy."
    assert str(caught.value) == f'"{lock}" is a folder where the pond has a file\n{hint}'
    lock.rmdir()
    shutil.rmtree(log)
    log.write_text("")
    with pytest.raises(millpond.PondError) as caught:
        use(tmp_path / "pond")
    assert str(caught.value) == f'"{log}" is a file where the pond has a folder\n{hint}'


@pytest.mark.parametrize(
    "text",
    ["SELECT '\ud800'", "SELECT 1 AS `\udfff`", "CREATE TABLE `\ud800` (a INT)", "CREATE TABLE q (`a\ud83d` INT)"],
)
def test_half_of_a_surrogate_pair_is_no_text(tmp_path: Path, text: str) -> None:
    """A table of such a name made SHOW TABLES fail for ever."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        with pytest.raises(millpond.SqlError, match="of the statement is no character: it is half of a surrogate pair"):
            db.sql(text)
        with pytest.raises(millpond.TypeMismatch, match="half of a surrogate pair is no text"):
            db.sql("SELECT ?", ["\ud800"])
        assert db.sql("SHOW TABLES").rows() == []
        assert db.sql("SELECT '\U0001f600' AS face").rows() == [("\U0001f600",)]
