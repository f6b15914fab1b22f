"""Finance ticks: average prices weighted by volume, and a query over that query.

Shows a streaming view, a continuous query that reads it, and one that is added later and starts in the past: it is
answered from history first and then goes on.

It prints:

 symbol |  vwap | volume | instant
--------+-------+--------+---------
 ACME   | 103.0 |     40 |      60
 ACME   | 111.5 |     40 |     120
 ACME   | 109.0 |     10 |     180
 INIT   |  50.0 |    100 |      60
 INIT   |  49.0 |    100 |     120
 INIT   |  48.0 |    300 |     180
(6 rows)
 symbol | before |  vwap | instant | _seq
--------+--------+-------+---------+------
 ACME   |  103.0 | 111.5 |     120 |    0
 INIT   |   50.0 |  49.0 |     120 |    1
 ACME   |  111.5 | 109.0 |     180 |    2
 INIT   |   49.0 |  48.0 |     180 |    3
(4 rows)
 symbol | shares |   t | instant | _seq
--------+--------+-----+---------+------
 INIT   |    100 |  30 |      30 |    0
 INIT   |    100 |  70 |      70 |    1
 INIT   |    300 | 130 |     130 |    2
 ACME   |    500 | 190 |     190 |    3
(4 rows)
"""

from __future__ import annotations

import tempfile

import millpond

TRADES = [
    ("ACME", 100, 10, 5),
    ("ACME", 104, 30, 20),
    ("INIT", 50, 100, 30),
    ("ACME", 110, 10, 65),
    ("INIT", 49, 100, 70),
    ("ACME", 112, 30, 110),
    ("INIT", 48, 300, 130),
    ("ACME", 109, 10, 170),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder) as db:
        db.sql("""
            CREATE STREAMING TABLE trades (symbol STRING, cents BIGINT, shares BIGINT, t BIGINT) TIMESTAMP BY t;
            CREATE STREAMING VIEW bars RANGE INTERVAL '1' HOUR AS
              SELECT symbol, SUM(cents * shares) / SUM(shares) AS vwap, SUM(shares) AS volume
              FROM trades [INTERVAL '1' MINUTE] WHERE t < NOW() GROUP BY symbol SAMPLE INTERVAL '1' MINUTE;
            CREATE CONTINUOUS QUERY moves AS
              SELECT symbol, PREV(vwap) AS before, vwap FROM bars [symbol ROWS 2]
              WHERE instant = NOW() AND vwap <> PREV(vwap) ORDER BY symbol SAMPLE INTERVAL '1' MINUTE
        """)
        db.append("trades", TRADES)
        db.advance("trades", 181)
        db.tick()
        print(db.sql("SELECT symbol, vwap, volume, instant FROM bars ORDER BY symbol, instant"))
        print(db.resume("moves").fetch())

        db.sql("""
            CREATE CONTINUOUS QUERY large FROM 0 AS
              SELECT ISTREAM symbol, shares, t FROM trades [NOW] WHERE shares >= 100 SAMPLE REALTIME
        """)
        db.append("trades", [("ACME", 108, 500, 190)])
        db.advance("trades", 200)
        db.tick()
        print(db.resume("large").fetch())


if __name__ == "__main__":
    main()
