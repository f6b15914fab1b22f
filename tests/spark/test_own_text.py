"""Spark is given the user's own text: what a tree would lose or change must come out as plain Spark gives it, names and types too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from tests.corpus import Case
from tests.corpus.compare import assert_same
from tests.corpus.tables import SCHEMA, TABLES

pytestmark = pytest.mark.spark

STATEMENTS = [
    "SELECT max_by(name, seg, 2) FROM criticalsegs",
    "SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY spd DESC) FROM posreports",
    "SELECT to_char(vid, '999,999') FROM posreports",
    "SELECT listagg(name) WITHIN GROUP (ORDER BY name) FROM criticalsegs",
    "SELECT 1 & 2 >> 1, 2 | 1 & 0, 1 | 2 ^ 3, 1 || 2 + 10",
    "SELECT '7' || 1 + 2",
    "SELECT interval 2 weeks 3 microseconds * 1.5",
    "SELECT TIMESTAMP_NTZ '2026-01-01 00:00:00', CAST('2026-01-01' AS timestamp_ntz)",
    "SELECT pos, x FROM (SELECT posexplode(array(5, 6)) AS (pos, x))",
    "SELECT STRUCT('a' AS A, 1 AS `b c`)",
    "SELECT a.vid FROM posreports a LEFT JOIN criticalsegs c ON (a.seg IN (SELECT seg FROM criticalsegs)) IS NULL",
    "SELECT vid, vid, spd AS spd, spd AS spd FROM posreports WHERE vid = 101",
    "SELECT * FROM criticalsegs NATURAL JOIN criticalsegs c",
    "SELECT count(DISTINCT *) FROM criticalsegs",
    "SELECT count(*), count(1), sum(spd) + 1, -spd, NOT true FROM posreports GROUP BY spd",
    "SELECT posreports.vid, `POSREPORTS`.Spd FROM posreports TABLESAMPLE (100 PERCENT) WHERE posreports.vid > 102",
    "SELECT p.vid FROM posreports TABLESAMPLE (100 PERCENT) AS p -- comment\n WHERE /* ( */ p.vid > 102",
    "SELECT /*+ BROADCAST(c) */ c.name FROM criticalsegs c",
    "SELECT seg, to_json(max(struct(spd, vid))) FROM posreports GROUP -- it's\n BY seg ORDER /* /* */ \" */ BY ALL",
    "WITH a(x, y) AS (SELECT seg, name FROM criticalsegs) SELECT x, t.* FROM a AS t(x, y)",
    "SELECT seg, grouping(seg), sum(spd) FROM posreports GROUP BY ROLLUP (seg)",
    "SELECT * FROM (SELECT seg, spd FROM posreports) PIVOT (sum(spd) FOR seg IN (1, 2))",
    "SELECT seg FROM posreports a JOIN criticalsegs b USING (seg) WHERE seg = 1",
    "SELECT t.p FROM criticalsegs AS t(p, q)",
    "SELECT * FROM criticalsegs, LATERAL (SELECT * FROM owners LIMIT 1)",
    "SELECT n.k FROM n EXCEPT SELECT k FROM m ORDER BY n.k",
    "SELECT * FROM n JOIN (m FULL JOIN o USING (k)) USING (k)",
    "FROM n SELECT k WHERE k > 1",
    "VALUES (1, 'a'), (2, 'b')",
    "TABLE n",
    "SELECT id FROM range(3)",
    "SELECT count(*) FROM n, n",
    "SELECT -1.5BD, (- 1.5BD) + 1, -0.0BD, -(1.5BD), date('2024-02-29'), 3. IN (1, 3)",
    "WITH a AS (SELECT 1) VALUES (2, 'a'), (1, 'b') ORDER BY col1",
    "SELECT -128Y, 1L, 1.5BD, 2e3, X'ff', r'\\n', 'it''s'",
]


@pytest.fixture(scope="module")
def plain(session: Any) -> Any:
    own = session.newSession()
    for name, table in TABLES.items():
        own.createDataFrame(table()).coalesce(1).createOrReplaceTempView(name)
    return own


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory, session: Any) -> Iterator[millpond.Pond]:
    folder: Path = tmp_path_factory.mktemp("own") / "pond"
    with millpond.connect(folder, auto_archive=False, engine="spark", spark_master="local[2]") as db:
        for name, make in TABLES.items():
            columns = ", ".join(f"{c} {kind}" for c, kind in SCHEMA[name].items())
            stream = {"posreports": "t", "readings": "at"}.get(name)
            if stream is None:
                db.sql(f"CREATE STANDARD TABLE {name} ({columns})")
            else:
                db.sql(f"CREATE STREAMING TABLE {name} ({columns}) TIMESTAMP BY {stream} WITH (late = 'keep')")
            db.append(name, make())
        yield db


@pytest.mark.parametrize("sql", STATEMENTS)
def test_spark_is_given_the_own_text(sql: str, pond: millpond.Pond, plain: Any) -> None:
    expected = plain.sql(sql).toArrow()
    assert_same(Case("own", sql, sql, "spark", False, False, False), pond.sql(sql).arrow(), expected)


def test_windows_parameters_and_instants_have_their_places(pond: millpond.Pond) -> None:
    newest = pond.sql("SELECT max(t) FROM posreports").rows()[0][0]
    found = pond.sql(
        "SELECT ? AS text, NOW() - max(p.t) AS age, count(PREV(spd)) AS n "
        "FROM posreports [vid ROWS 2] p, criticalsegs AS c WHERE c.seg >= :none OR true".replace(":none", "?"),
        ["it's (a \\ text", -3],
    ).rows()
    assert found[0][:2] == ("it's (a \\ text", 0)
    assert found[0][2] > 0
    assert pond.sql("SELECT t FROM posreports [NOW]").rows()[0] == (newest,)
    assert pond.sql("SELECT t FROM posreports [ROWS 5] WHERE t > 0").rows()[0] == (newest,)


def test_now_is_the_time_of_a_stream_without_a_window_too(pond: millpond.Pond) -> None:
    newest = pond.sql("SELECT max(t) FROM posreports").rows()[0][0]
    assert pond.sql("SELECT NOW() AS now, max(t) AS t FROM posreports WHERE t <= NOW()").rows() == [(newest, newest)]
    (wall,) = pond.sql("SELECT year(CURRENT_TIMESTAMP) AS y FROM posreports LIMIT 1").rows()[0]
    assert wall >= 2026


def test_a_star_over_a_window_leaves_out_the_time_in_every_construct(pond: millpond.Pond) -> None:
    explicit = [name for name in pond.sql("SELECT * FROM posreports LIMIT 1").arrow().column_names if name != "t"]

    def shown(sql: str) -> list[str]:
        return pond.sql(sql).arrow().column_names

    assert shown("SELECT * FROM posreports [ROWS 2]") == explicit
    assert shown("SELECT * EXCEPT (vid) FROM posreports [ROWS 2]") == [name for name in explicit if name != "vid"]
    both = shown("SELECT * FROM posreports [ROWS 2] JOIN criticalsegs USING (seg)")
    assert (both[0], both.count("seg"), "t" in both) == ("seg", 1, False)
    assert shown("SELECT * FROM posreports [ROWS 2] NATURAL JOIN criticalsegs")[: len(both)] == both
    (row,) = pond.sql("SELECT struct(*) AS s FROM posreports [ROWS 1]").rows()[0]
    assert list(row) == explicit


def test_hidden_columns_are_seen_only_where_they_are_named(pond: millpond.Pond) -> None:
    assert "_seq" not in pond.sql("SELECT * FROM posreports LIMIT 1").arrow().column_names
    named = pond.sql("SELECT _seq AS number, p.* FROM posreports p ORDER BY _seq LIMIT 1").arrow()
    assert "_seq" not in named.column_names
    assert named["number"].to_pylist() == [0]
    for what in ("SELECT _seq FROM posreports NATURAL JOIN posreports b", "SELECT _seq, array(*) FROM posreports"):
        with pytest.raises(millpond.UnsupportedSql, match="is not supported in a query that names _seq or PREV"):
            pond.sql(what)


def test_a_star_beside_a_relation_of_another_place_shows_all_of_it_and_nothing_hidden(pond: millpond.Pond) -> None:
    tables = pond.sql("SELECT name FROM millpond.tables").arrow().num_rows
    assert pond.sql("SELECT count(DISTINCT struct(*)) FROM millpond.tables").rows() == [(tables,)]
    beside = pond.sql("SELECT * FROM millpond.tables, criticalsegs LIMIT 1").arrow().column_names
    assert beside[:2] == ["name", "kind"]
    assert beside[-2:] == ["seg", "name"]
    assert "_seq" not in beside


def test_pivot_that_spark_refuses_is_told_in_its_words(pond: millpond.Pond) -> None:
    with pytest.raises(millpond.EngineError, match="UNRESOLVED_COLUMN"):
        pond.sql("SELECT nothing FROM (SELECT seg, spd FROM posreports) PIVOT (sum(spd) FOR seg IN (1, 2))")


def test_what_neither_understands_is_our_error(pond: millpond.Pond) -> None:
    with pytest.raises(millpond.SqlError, match='column "seg" is ambiguous'):
        pond.sql("SELECT vid FROM posreports a JOIN criticalsegs b ON a.seg = b.seg WHERE seg = 1")


def test_a_comment_that_spark_ends_elsewhere_runs_no_script(pond: millpond.Pond, tmp_path: Path) -> None:
    """Spark goes on with a comment behind a backslash at the end of a line. What follows was a text to us, and SQL to Spark."""
    made = tmp_path / "made"
    script = f'TRANSFORM(a) USING "touch {made}" AS (b STRING) FROM (SELECT 1 AS a) --'
    assert pond.sql(f"SELECT -- \\\n'\n {script} ' AS told").rows() == [(f"\n {script} ",)]
    write = f'INSERT OVERWRITE DIRECTORY "{made}" USING csv SELECT * FROM x --'
    assert pond.sql(f"WITH x AS (SELECT 1) -- \\\nSELECT '\n {write} ' AS told").rows() == [(f"\n {write} ",)]
    assert not made.exists()
