"""A kind of foreign table, registered and used in SQL. The other system is a dict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import millpond
from millpond.arrow import arrow_schema
from millpond.errors import UnknownName, UnsupportedSql
from millpond.foreign_tables.base import ForeignTableKind
from millpond.foreign_tables.registry import FOREIGN_TABLES
from millpond.pond import Pond
from millpond.schema import Schema
from millpond.table.store import Bounds

COLUMNS = Schema.of([("seg", "INT"), ("name", "STRING")])


class DictKind(ForeignTableKind):
    name = "dict"
    system = "a dict"

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], pa.Table] = {}

    def describe(self, address: str, table: str) -> Schema:
        self.tables[address, table] = arrow_schema(COLUMNS).empty_table()
        return COLUMNS

    def fetch(self, address: str, table: str, columns: Sequence[str], schema: Schema, bounds: Bounds) -> pa.Table:
        return self.tables[address, table].select(columns)

    def insert(self, address: str, table: str, rows: pa.Table) -> int:
        self.tables[address, table] = pa.concat_tables([self.tables[address, table], rows])
        return rows.num_rows


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> DictKind:
    made = DictKind()
    monkeypatch.setattr(FOREIGN_TABLES, "_kinds", {**FOREIGN_TABLES._kinds})
    FOREIGN_TABLES.register(made)
    return made


@pytest.fixture
def db(tmp_path: Path, kind: DictKind) -> Iterator[Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(
            "CREATE STANDARD TABLE names FROM DICT 'here' TABLE 'known'; CREATE STANDARD TABLE others FROM dict 'here'"
        )
        yield db


def test_rows_go_there_and_come_from_there(db: Pond, kind: DictKind, tmp_path: Path) -> None:
    db.sql("INSERT INTO names VALUES (1, 'a'), (2, 'b')")
    assert kind.tables["here", "known"].num_rows == 2
    assert kind.tables["here", "others"].num_rows == 0
    assert db.sql("SELECT name FROM names WHERE seg = 2").rows() == [("b",)]
    db.close()
    with millpond.connect(tmp_path / "pond") as again:
        assert again.sql("SELECT COUNT(*) FROM names").rows() == [(2,)]


def test_it_is_shown_as_a_foreign_table(db: Pond) -> None:
    shown = db.sql("SHOW STANDARD TABLES").arrow().select(["name", "kind", "rows"]).to_pylist()
    assert shown == [{"name": name, "kind": "foreign table", "rows": None} for name in ("names", "others")]


def test_its_rows_are_changed_there(db: Pond) -> None:
    with pytest.raises(UnsupportedSql, match='"names" lives in a dict'):
        db.sql("DELETE FROM names")


def test_a_kind_that_does_not_exist(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond") as db, pytest.raises(UnknownName) as caught:
        db.sql("CREATE STANDARD TABLE names FROM POSTGRE 'x'")
    assert caught.value.primary == 'kind of foreign table "POSTGRE" does not exist'
    assert caught.value.hint == 'Did you mean "POSTGRES"?'


def test_a_kind_that_is_not_installed_any_more(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FOREIGN_TABLES, "_kinds", {n: k for n, k in FOREIGN_TABLES._kinds.items() if n != "dict"})
    assert db.sql("SELECT kind FROM millpond.tables WHERE name = 'names'").rows() == [("foreign table",)]
    with pytest.raises(UnknownName, match='kind of foreign table "DICT" does not exist'):
        db.sql("SELECT * FROM names")
