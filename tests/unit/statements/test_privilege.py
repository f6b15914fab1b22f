"""One switch for all statements that reach beyond the pond."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest

import millpond
from millpond.sql import statements as st
from millpond.sql.parser import parse

PRIVILEGED = {
    "CREATE SOURCE f (a INT) FROM FILES '/tmp'": "a source",
    "CREATE SOURCE f (a INT) FROM SOCKET 'localhost:1'": "a source",
    "CREATE STANDARD TABLE p FROM POSTGRES 'postgresql://localhost/x'": "a foreign table",
    "CREATE FUNCTION f(a INT) RETURNS INT AS PYTHON 'os:getpid'": "a function in Python",
    "CREATE AGGREGATE f(a INT) RETURNS INT AS PYTHON 'os:getpid'": "a function in Python",
    "CREATE TABLE FUNCTION f(a INT) RETURNS (b INT) AS PYTHON 'os:getpid'": "a function in Python",
    "ON q DO POST 'http://localhost:1/'": "a trigger",
    "ON q DO PYTHON 'os:getpid'": "a trigger",
}


@pytest.mark.parametrize("sql", PRIVILEGED)
def test_a_privileged_statement_is_refused_with_the_name_of_the_switch(sql: str, tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", privileged=False) as db, pytest.raises(millpond.NotPermitted) as error:
        db.sql(sql)
    assert str(error.value) == (
        f"{PRIVILEGED[sql]} cannot be defined here\n"
        "Detail: It reaches beyond the pond, and the setting privileged is off.\n"
        "Hint: Define it in a process that opens the pond with privileged=True."
    )
    assert isinstance(error.value, PermissionError)
    assert error.value.code == "not_permitted"


def test_the_same_in_python_when_a_text_is_given(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", privileged=False) as db:
        db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT a FROM s [NOW] SAMPLE REALTIME")
        with pytest.raises(millpond.NotPermitted):
            db.create_function("f", "os:getpid", arguments=[], returns="INT")
        for target in ("http://localhost:1/", "os:getpid"):
            with pytest.raises(millpond.NotPermitted):
                db.on("q", target)
        # Who can hand over a callable runs code here anyway.
        db.create_function("half", lambda x: x // 2, arguments=["INT"], returns="INT")
        assert db.sql("SELECT half(8) AS h").rows() == [(4,)]
        db.on("q", lambda row: None)


def test_what_is_defined_already_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with millpond.connect(tmp_path / "pond") as db:
        db.sql("CREATE FUNCTION here() RETURNS INT AS PYTHON 'os:getpid'")
        db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t")
        db.sql(f"CREATE SOURCE f (a INT, t BIGINT) FROM FILES '{tmp_path / 'in'}'")
    with millpond.connect(tmp_path / "pond", privileged=False) as db:
        assert db.sql("SELECT here() AS p").rows() == [(os.getpid(),)]
        db.sql("INSERT INTO s SELECT * FROM f")
        assert list(db._workspace.catalog.feeds) == ["s_from_f"]
        for sql in ("DROP FEED s_from_f", "DROP SOURCE f", "DROP FUNCTION here"):
            db.sql(sql)


def test_the_switch_can_be_turned_off_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLPOND_PRIVILEGED", "false")
    with millpond.connect(tmp_path / "pond") as db, pytest.raises(millpond.NotPermitted):
        db.sql("CREATE SOURCE f (a INT) FROM FILES '/tmp'")


def test_ordinary_statements_need_no_privilege(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", privileged=False) as db:
        db.sql("CREATE STREAMING TABLE s (a INT, t BIGINT) TIMESTAMP BY t; CREATE STANDARD TABLE u (a INT)")
        db.sql("INSERT INTO s VALUES (1, 2); INSERT INTO u SELECT a FROM s; CREATE STANDARD TABLE w AS SELECT a FROM u")
        assert db.sql("SELECT a FROM w").rows() == [(1,)]


def test_every_statement_with_a_place_outside_is_privileged() -> None:
    """A new kind of statement that names a module, an address or a path must say so."""
    outside = {"location", "address", "python", "target"}
    kinds = [k for k in vars(st).values() if inspect.isclass(k) and issubclass(k, st.Statement)]
    naming = {k for k in kinds if outside & set(getattr(k, "__dataclass_fields__", ()))}
    assert naming == {type(parse(sql)[0]) for sql in PRIVILEGED}
