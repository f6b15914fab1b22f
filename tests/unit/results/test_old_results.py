"""Results that have left the log: numbers go on, and a reader keeps no more than the writer."""

from __future__ import annotations

from pathlib import Path

import millpond
from millpond import Pond


def small(place: Path) -> Pond:
    db = millpond.connect(place, auto_archive=False)
    db._workspace.network.results.log._segment_bytes = 1  # a segment a tick
    db._workspace.network.results.log._segments = 2
    return db


def test_numbers_go_on_and_readers_forget(tmp_path: Path) -> None:
    with small(tmp_path / "pond") as db, small(tmp_path / "pond") as reader:
        db.sql("CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY one AS SELECT vid FROM r [NOW] WHERE vid = 1 SAMPLE REALTIME")
        db.sql("CREATE CONTINUOUS QUERY all AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
        most = 0
        for t in range(1, 9):
            db.append("r", [(t, t)])
            db.advance("r", t + 1)
            db.tick()
            reader._workspace.refresh()
            most = max(most, reader._workspace.network.outlet("all").rows)
        assert len(list((tmp_path / "pond" / "results").iterdir())) == 2
        assert [db._workspace.network.outlet(n).next for n in ("one", "all")] == [1, 8]
        assert db._workspace.network.outlet("all").rows == 2
        assert most <= 4
        assert reader._workspace.network.outlet("one").rows == 0
        assert (reader._workspace.network.outlet("all").first, reader._workspace.network.outlet("all").next) == (6, 8)
    with small(tmp_path / "pond") as db:
        assert db.status()["queries"]["one"]["sent"] == 1
        cursor = db.resume("one", after=0)
        db.append("r", [(1, 20)])
        db.advance("r", 21)
        db.tick()
        assert cursor.fetch().rows() == [(1, 20, 1)]
