"""Web clicks: which pages are popular right now, minute by minute.

Shows a streaming table with timestamps, a continuous query over a sliding window, and a cursor that reads its results.

The answer for 12:02 covers the two minutes before it. The click at 11:59:50 arrives after the one at 12:01:15. It still
counts, because the table allows 90 seconds of lateness; `tick` only sends answers that can no longer change.

It prints:

 page    | clicks | visitors | instant                   | _seq
---------+--------+----------+---------------------------+------
 /home   |      2 |        2 | 2026-03-01 12:00:00+00:00 |    0
 /home   |      3 |        3 | 2026-03-01 12:01:00+00:00 |    1
 /prices |      2 |        1 | 2026-03-01 12:01:00+00:00 |    2
 /prices |      4 |        2 | 2026-03-01 12:02:00+00:00 |    3
 /home   |      2 |        2 | 2026-03-01 12:02:00+00:00 |    4
(5 rows)
"""

from __future__ import annotations

import tempfile

import millpond

CLICKS = [
    ("ada", "/home", "2026-03-01 11:59:40"),
    ("ada", "/prices", "2026-03-01 12:00:20"),
    ("bob", "/home", "2026-03-01 12:00:30"),
    ("ada", "/prices", "2026-03-01 12:00:50"),
    ("eve", "/prices", "2026-03-01 12:01:10"),
    ("eve", "/prices", "2026-03-01 12:01:15"),
    ("cyd", "/home", "2026-03-01 11:59:50"),  # arrives late, within the allowed lateness
    ("cyd", "/home", "2026-03-01 12:01:40"),
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder) as db:
        db.sql("""
            CREATE STREAMING TABLE clicks (visitor STRING, page STRING, at TIMESTAMP)
              TIMESTAMP BY at LATENESS INTERVAL '90' SECOND;
            CREATE CONTINUOUS QUERY popular AS
              SELECT page, COUNT(*) AS clicks, COUNT(DISTINCT visitor) AS visitors
              FROM clicks [INTERVAL '2' MINUTE] GROUP BY page
              ORDER BY clicks DESC LIMIT 3 SAMPLE INTERVAL '1' MINUTE
        """)
        db.append("clicks", CLICKS)
        db.advance("clicks", "2026-03-01 12:02:01")  # a heartbeat: no earlier click is still to come
        db.tick()  # `millpond run`, or a subscriber, does this every second
        print(db.resume("popular").fetch())


if __name__ == "__main__":
    main()
