"""Linear Road, small: generated traffic, two cars that crash, and the jam behind them.

Shows an application in SQL over simulated traffic: half an expressway, 25 minutes, a tenth of the usual cars. The whole
benchmark is `make demo`; its SQL is src/linear_road/linear_road.sql.

Two cars stop in the same place, in segment 45. A quarter of an hour later that is where most cars are.

It prints:

21,628 reports
 seg | cars | speed
-----+------+-------
  45 |   25 |  29.5
  44 |   21 |  38.8
  14 |   19 |  32.7
(3 rows)
 vid | seg |    pos | since
-----+-----+--------+-------
  35 |  45 | 239899 |   617
 206 |  45 | 239899 |   619
(2 rows)
"""

from __future__ import annotations

import tempfile

import pyarrow as pa
import pyarrow.compute as pc

import millpond
from linear_road.load import TrafficConfig
from linear_road.traffic import simulate


def reports() -> pa.Table:
    """Position reports, in the order of their time. The same seed gives the same cars."""
    rows = pa.Table.from_batches(simulate(TrafficConfig(xways=0.5, minutes=25, load=0.1, seed=7)))
    rows = rows.filter(pc.equal(rows["Type"], 0))  # the others are requests
    return rows.select(["VID", "Spd", "Lane", "Seg", "Pos", "Time"]).rename_columns(
        ["vid", "spd", "lane", "seg", "pos", "t"]
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder) as db:
        db.sql("""
            CREATE STREAMING TABLE reports (vid INT, spd INT, lane INT, seg INT, pos INT, t BIGINT)
              TIMESTAMP BY t SHARD BY vid;
            CREATE STREAMING VIEW segments RANGE INTERVAL '1' HOUR AS
              SELECT seg, COUNT(DISTINCT vid) AS cars, AVG(spd) AS speed
              FROM reports [INTERVAL '1' MINUTE] WHERE t < NOW() GROUP BY seg SAMPLE INTERVAL '1' MINUTE;
            CREATE CONTINUOUS QUERY stopped RANGE INTERVAL '1' HOUR AS
              SELECT vid, seg, pos FROM reports [vid ROWS 4]
              WHERE t = NOW() AND lane BETWEEN 1 AND 3
                AND pos = PREV(pos) AND pos = PREV(pos, 2) AND pos = PREV(pos, 3) AND t - PREV(t, 3) = 90
              SAMPLE EACH ROW
        """)
        receipt = db.append("reports", reports())
        db.advance("reports", 25 * 60)
        db.tick()
        print(f"{receipt.accepted:,} reports")
        answer = db.sql("""
            SELECT seg, cars, ROUND(speed, 1) AS speed FROM segments WHERE instant = 1440
            ORDER BY cars DESC, seg LIMIT 3
        """)
        print(answer)
        print(db.sql("SELECT vid, seg, pos, MIN(instant) AS since FROM stopped GROUP BY vid, seg, pos ORDER BY since"))


if __name__ == "__main__":
    main()
