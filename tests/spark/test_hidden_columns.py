"""The time of a window is hidden: no construct of Spark's SQL sees it, unless the query names it. Plain Spark is asked the same over
tables that have no such column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from tests.corpus import Case
from tests.corpus.compare import assert_same

pytestmark = pytest.mark.spark

R = [(1, "ab", 1), (2, "b", 2), (1, "?", 3), (1, None, None), (2, "x[ROWS 1]", 5)]
S = [(1, 10), (3, 30)]
Q = [(1, "one"), (2, "two")]

# `@r` and `@s` are windows over streams, and tables for plain Spark.
STATEMENTS = [
    "SELECT count(DISTINCT *), count(*) FROM @r",
    "SELECT to_json(struct(*)), hash(*), concat_ws(',', *) FROM @r",
    "SELECT max(struct(r.*)) FROM @r",
    "SELECT array(*) FROM (SELECT k, v FROM @r)",
    "SELECT * FROM @r PIVOT (sum(v) FOR k IN (1, 2))",
    "SELECT * FROM @r AS a PIVOT (max(s) AS m, count(v) FOR k IN (1 AS one, 2))",
    "SELECT * FROM (SELECT * FROM @r) PIVOT (max(s) FOR k IN (1 AS one, 2 AS two))",
    "SELECT * FROM @r UNPIVOT (val FOR nam IN (k, v))",
    "SELECT * FROM @r, LATERAL (SELECT *)",
    "SELECT * FROM @r, LATERAL (SELECT r.*) x",
    "SELECT * FROM @r, LATERAL (SELECT v + 1 AS w)",
    "SELECT * FROM @r LATERAL VIEW explode(array(1, 2)) e AS x",
    "SELECT * FROM @r NATURAL JOIN @s",
    "SELECT * FROM (SELECT id AS k FROM range(2)) NATURAL FULL JOIN @r",
    "SELECT * FROM @r FULL JOIN @s USING (k) FULL JOIN q USING (k)",
    "SELECT * FROM @r JOIN (@s JOIN q USING (k)) ON r.k = s.k",
    "SELECT * FROM (@r)",
    "SELECT * FROM (@r) AS x",
    "SELECT * FROM (@r a JOIN @s b ON a.k = b.k) AS x",
    "SELECT * FROM VALUES (1), (2) AS x(k) JOIN @r USING (k)",
    "SELECT * FROM @r a LEFT SEMI JOIN @r b USING (v, s)",
    "SELECT * FROM @s LEFT ANTI JOIN q USING (k) LEFT SEMI JOIN @s x USING (w)",
    "SELECT r.*, s.* FROM @r JOIN @s USING (k) WHERE w > 0",
    "SELECT s.*, x.* FROM @r AS x FULL JOIN @s USING (k)",
    "SELECT DISTINCT * FROM @r ORDER BY ALL",
    "SELECT *, count(1) FROM @r GROUP BY ALL",
    "SELECT * FROM @r TABLESAMPLE (100 PERCENT)",
    "SELECT * EXCEPT (s) FROM @r a JOIN stack(1, 5) AS x(n) ON a.v < x.n",
    "SELECT * FROM @r AS x(a, b, c) WHERE a IN (SELECT * FROM (SELECT k FROM @s))",
    "SELECT a, array(b) FROM @r x(a, b, c)",
    # One names a column that is called like the time, and the others' names are Spark's alone.
    "SELECT a, to_date('2024-03-31') + INTERVAL '1' DAY FROM @r AS x(a, b, c), VALUES (1) AS y(t) WHERE y.t = 1",
    "SELECT c, (SELECT max(q.z) FROM q WHERE q.k = x.a) FROM @r x(a, b, c), VALUES (1) AS y(t) WHERE y.t = 1",
    "SELECT * FROM @r x(a, b, c), VALUES (1) AS y(t) WHERE y.t = 1",
    "WITH s AS (SELECT 1 AS k, 5 AS y) SELECT * FROM @r JOIN s USING (k)",
    "WITH c AS (SELECT * FROM @r) SELECT * FROM c UNION ALL SELECT * FROM @r |> WHERE k = 1",
    "SELECT * FROM q WHERE EXISTS (SELECT * FROM @r WHERE r.k = q.k AND r.v > 1)",
    "FROM @r |> EXTEND k + 1 AS l |> WHERE l > 2",
    "TABLE q",
]


@pytest.fixture(scope="module")
def plain(session: Any) -> Any:
    own = session.newSession()
    for name, rows, columns in (("r", R, "ksv"), ("s", S, "kw"), ("q", Q, "kz")):
        table = pa.table({column: [row[i] for row in rows] for i, column in enumerate(columns)})
        table = table.cast(
            pa.schema([(f.name, pa.int32() if pa.types.is_integer(f.type) else f.type) for f in table.schema])
        )
        own.createDataFrame(table).coalesce(1).createOrReplaceTempView(name)
    return own


@pytest.fixture(scope="module")
def pond(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    folder: Path = tmp_path_factory.mktemp("hidden")
    with millpond.connect(folder / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (k INT, s STRING, v INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE STREAMING TABLE s (k INT, w INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE STANDARD TABLE q (k INT, z STRING)")
        db.append("r", [(*row, time) for time, row in enumerate(R)])
        db.append("s", [(*row, time) for time, row in enumerate(S)])
        db.append("q", Q)
        yield db


@pytest.mark.parametrize("text", STATEMENTS)
def test_nothing_sees_the_time_of_a_window(pond: millpond.Pond, plain: Any, text: str) -> None:
    mine = pond.sql(text.replace("@r", "r [ROWS 9]").replace("@s", "s [UNBOUNDED]")).arrow()
    assert_same(Case("", "", text, "", False, False, False), mine, plain.sql(text.replace("@", "")).toArrow())


def test_what_names_the_time_sees_it_and_nothing_else_does(pond: millpond.Pond) -> None:
    found = pond.sql("SELECT max(struct(*)) AS x, max(t) AS t FROM r [ROWS 9] WHERE array_size(array(k, v)) > 0")
    assert found.rows() == [({"k": 2, "s": "x[ROWS 1]", "v": 5}, 4)]
    with pytest.raises(millpond.UnsupportedSql, match="a query that names the time of a window"):
        pond.sql("SELECT * FROM (SELECT * FROM r [ROWS 9] WHERE t > 0) PIVOT (sum(v) FOR k IN (1, 2))")
    summed = pond.sql("SELECT * FROM (SELECT k, v FROM r [ROWS 9] WHERE t > 0) PIVOT (sum(v) FOR k IN (1, 2))")
    assert summed.rows() == [(3, 7)]
