"""A freeway with a memory: what goes on now, told from what went on before.

The two queries with which the paper on overload-sensitive archives begins. How many cars more passed the bridge than the exit
before it since rush hour began, every fifteen minutes; and how many of the cars at the exit today are commuters: seen there at
the same hour of every day of last week. Then a question about all of last week, answered from a quarter of its rows. The program
counts by itself too, and compares.

It prints:

 instant | increase
---------+----------
  630900 |      224
  631800 |      449
  632700 |      673
  633600 |      900
(4 rows)
 commuters
-----------
       300
(1 row)
the same as counted here: True
read a quarter: True, and the truth is within the bounds: True
"""

from __future__ import annotations

import random
import tempfile

import millpond

DAY, HOUR, RUSH = 86_400, 3_600, 7 * 3_600
EXIT, BRIDGE = 12, 13
COMMUTERS = 300


def traffic(day: int) -> list[tuple[int, int, int]]:
    """A morning from 7 to 8: commuters who come every day, as many others who come once, and twice as many from elsewhere."""
    chance = random.Random(day)
    commuters = list(range(COMMUTERS))
    others = [1_000_000 * (day + 1) + car for car in range(COMMUTERS)]
    seen = []
    for place, car in enumerate(commuters + others):
        at = day * DAY + RUSH + place % COMMUTERS * 12
        seen += [(car, EXIT, at), (car, BRIDGE, at + 1)]
    for car in range(900):  # joins the freeway behind the exit, evenly over the hour
        seen.append((5_000_000 * (day + 1) + car, BRIDGE, day * DAY + RUSH + car * 4 + chance.randrange(4)))
    return sorted(seen, key=lambda row: row[2])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder, auto_archive=False, shards=1) as db:
        db.sql(
            "CREATE STREAMING TABLE sightings (vid INT, place INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '100' DAY"
            " REDUCE BY RANDOMIZE"
        )
        for day in range(7):
            db.append("sightings", traffic(day))
        db.archive()
        db.sql(f"""
            CREATE CONTINUOUS QUERY load RANGE INTERVAL '1' DAY AS
              SELECT sum(CASE WHEN place = {BRIDGE} THEN 1 ELSE -1 END) AS increase
              FROM sightings [INTERVAL '1' HOUR] SAMPLE INTERVAL '15' MINUTE;
            CREATE CONTINUOUS QUERY commuting AS
              SELECT count(*) AS commuters FROM (
                SELECT vid FROM sightings [INTERVAL '8' DAY]
                WHERE place = {EXIT} AND t % {DAY} >= {RUSH} AND t % {DAY} < {RUSH + HOUR}
                GROUP BY vid HAVING count(DISTINCT CAST(floor(t / {DAY}) AS INT)) = 8) AS each
              SAMPLE INTERVAL '1' HOUR
        """)
        today = traffic(7)
        for first in range(0, len(today), 500):
            db.append("sightings", today[first : first + 500])
            db.tick()
        db.advance("sightings", 7 * DAY + RUSH + HOUR + 1)
        db.tick()
        print(db.sql(f"SELECT instant, increase FROM load WHERE instant > {7 * DAY + RUSH} ORDER BY instant"))
        print(db.sql("SELECT commuters FROM commuting"))
        ends = [7 * DAY + RUSH + quarter * 900 for quarter in range(1, 5)]
        counted = [(end, sum(1 if place == BRIDGE else -1 for _, place, t in today if t <= end)) for end in ends]
        days = [{car for car, place, _ in traffic(day) if place == EXIT} for day in range(8)]
        same = db.sql("SELECT instant, increase FROM load ORDER BY instant").rows()[-4:] == counted
        print(f"the same as counted here: {same and len(set.intersection(*days)) == COMMUTERS}")
        week = [row for day in range(7) for row in traffic(day) if row[1] == BRIDGE]
        asked = f"SELECT count(*) AS n FROM sightings REDUCE TO 25 PERCENT WHERE place = {BRIDGE} AND t < {7 * DAY}"
        found = db.sql(asked)
        ((_, low, high),) = found.rows()
        part = found.reduction.fraction if found.reduction else 1.0
        print(f"read a quarter: {0.2 < part < 0.4}, and the truth is within the bounds: {low <= len(week) <= high}")


if __name__ == "__main__":
    main()
