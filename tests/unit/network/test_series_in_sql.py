"""Time series in plain SQL: moving mean, deviation, extremes and correlations, with windows that grow while rows flow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import millpond

LEVEL = "SELECT link, AVG(load) AS mean, STDDEV_POP(load) AS deviation, MIN(load) AS least, MAX(load) AS most"
PAIRS = (
    "SELECT a.link AS a, b.link AS b, CORR(a.load, b.load) AS r FROM loads [INTERVAL '20' SECOND] AS a"
    " JOIN loads [INTERVAL '20' SECOND] AS b ON a.t = b.t AND a.link < b.link GROUP BY a.link, b.link"
)


def test_windows_of_series_have_the_numbers_of_their_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    loads = rng.normal(10, 3, (4, 120))
    loads[1] = 2 * loads[0] + rng.normal(0, 1, 120)
    loads[3] = 5.0  # constant: it has no correlation
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE loads (link INT, load DOUBLE, t BIGINT) TIMESTAMP BY t")
        for name, text in (("level", f"{LEVEL} FROM loads [INTERVAL '10' SECOND] GROUP BY link"), ("together", PAIRS)):
            db.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text} SAMPLE INTERVAL '5' SECOND")
        for begin, end in ((0, 50), (50, 80), (80, 120)):
            db.append("loads", [(k, float(loads[k, t]), t) for t in range(begin, end) for k in range(4)])
            db.tick()
            if end == 80:
                db.sql("ALTER CONTINUOUS QUERY level SET WINDOW OF loads = INTERVAL '60' SECOND")
        level = db.sql("SELECT * FROM level").arrow().to_pylist()
        together = db.sql("SELECT * FROM together").arrow().to_pylist()
    instants = range(0, 119, 5)
    assert {(r["link"], r["instant"]) for r in level} == {(k, i) for k in range(4) for i in instants}
    for row in level:
        long = 60 if row["instant"] >= 80 else 10
        values = loads[row["link"], max(0, row["instant"] - long) : row["instant"] + 1]
        expected = (values.mean(), values.std(), values.min(), values.max())
        assert (row["mean"], row["deviation"], row["least"], row["most"]) == pytest.approx(expected, abs=1e-9)
    assert len(together) == 6 * len(instants)
    for row in together:
        x, y = (loads[row[k], max(0, row["instant"] - 20) : row["instant"] + 1] for k in ("a", "b"))
        if row["b"] == 3 or len(x) < 2:
            assert row["r"] is None
        else:
            assert row["r"] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
