"""A freeway with a memory: what goes on now, together with what went on before.

The two queries with which the paper on overload-sensitive archives begins, over traffic of Linear Road: by how many more cars the
exit than the bridge was passed since rush hour began, every fifteen minutes; and how many cars at the exit were there at the same
hour of every day of last week. Both read history at their instants. Then a question about last week, from a quarter of its rows.

It prints:

483,885 reports in eight mornings
 instant | increase
---------+----------
  630900 |       10
  631800 |       14
  632700 |       11
  633600 |       16
(4 rows)
 commuters
-----------
       107
(1 row)
the same as counted here: True
read a quarter: True, and the truth is within the bounds: True
"""

from __future__ import annotations

import tempfile

import pyarrow as pa
import pyarrow.compute as pc

import millpond
from linear_road.load import TrafficConfig
from linear_road.traffic import simulate

DAY, RUSH = 86_400, 7 * 3_600
EXIT, BRIDGE = 40, 50


def cars(seed: int, first: int, begin: int) -> pa.Table:
    """An hour of position reports from the time `begin` on; cars are numbered from `first` on."""
    rows = pa.Table.from_batches(simulate(TrafficConfig(xways=0.5, minutes=60, load=0.03, seed=seed)))
    rows = rows.filter(pc.equal(rows["Type"], 0))
    return pa.table({"vid": pc.add(rows["VID"], first), "seg": rows["Seg"], "t": pc.add(rows["Time"], begin)})


def morning(day: int) -> pa.Table:
    """From 7 to 8: the cars of every day, and as many of this day."""
    begin = day * DAY + RUSH
    return pa.concat_tables([cars(7, 0, begin), cars(100 + day, 1_000_000 * (day + 1), begin)]).sort_by("t")


def seen(rows: pa.Table, seg: int, end: int) -> set[int]:
    """The cars that were in a segment up to a time."""
    found = rows.filter(pc.and_(pc.equal(rows["seg"], seg), pc.less_equal(rows["t"], end)))
    return set(found["vid"].to_pylist())


def main() -> None:
    mornings = [morning(day) for day in range(8)]
    print(f"{sum(rows.num_rows for rows in mornings):,} reports in eight mornings")
    before = " AND ".join(
        f"vid IN (SELECT vid FROM reports [BEGIN NOW - INTERVAL '{24 * day + 1}' HOUR END NOW - INTERVAL '{24 * day}' HOUR]"
        f" AS day{day} WHERE seg = {EXIT})"
        for day in range(1, 8)
    )
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder, auto_archive=False, shards=1) as db:
        db.sql("CREATE STREAMING TABLE reports (vid INT, seg INT, t BIGINT) TIMESTAMP BY t REDUCE BY RANDOMIZE")
        for rows in mornings[:7]:
            db.append("reports", rows)
        db.archive()
        db.sql(f"""
            CREATE CONTINUOUS QUERY load RANGE INTERVAL '1' DAY AS
              SELECT count(DISTINCT CASE WHEN seg = {EXIT} THEN vid END)
                - count(DISTINCT CASE WHEN seg = {BRIDGE} THEN vid END) AS increase
              FROM reports [BEGIN NOW - INTERVAL '1' HOUR END NOW] SAMPLE INTERVAL '15' MINUTE;
            CREATE CONTINUOUS QUERY commuting AS
              SELECT count(DISTINCT vid) AS commuters FROM reports [INTERVAL '1' HOUR] AS today
              WHERE seg = {EXIT} AND {before} SAMPLE INTERVAL '1' HOUR
        """)
        db.append("reports", today := mornings[7])
        db.advance("reports", 7 * DAY + RUSH + 3_601)
        db.tick()
        print(db.sql(f"SELECT instant, increase FROM load WHERE instant > {7 * DAY + RUSH} ORDER BY instant"))
        print(commuters := db.sql("SELECT commuters FROM commuting"))
        ends = [7 * DAY + RUSH + quarter * 900 for quarter in range(1, 5)]
        counted = [(end, len(seen(today, EXIT, end)) - len(seen(today, BRIDGE, end))) for end in ends]
        same = db.sql("SELECT instant, increase FROM load ORDER BY instant").rows()[-4:] == counted
        daily = set.intersection(*(seen(rows, EXIT, 8 * DAY) for rows in mornings))
        print(f"the same as counted here: {same and commuters.rows() == [(len(daily),)]}")
        week = sum(pc.sum(pc.equal(rows["seg"], EXIT)).as_py() for rows in mornings[:7])
        found = db.sql(f"SELECT count(*) AS n FROM reports REDUCE TO 25 PERCENT WHERE seg = {EXIT} AND t < {7 * DAY}")
        ((_, low, high),) = found.rows()
        print(
            f"read a quarter: {0.2 < found.reduction.fraction < 0.4}, and the truth is within the bounds: {low <= week <= high}"
        )


if __name__ == "__main__":
    main()
