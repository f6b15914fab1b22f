"""Network packets: find the host that scans ports, with estimates instead of every packet in memory.

Shows approximate aggregates with bounds. The continuous query keeps small summaries per source address, not the packets of
its window; the one-time query computes the exact number from the stored rows.

It prints:

 source    | ports |    bytes | at_least | at_most
-----------+-------+----------+----------+---------
 10.0.0.99 | 305.0 |  17627.0 |    17161 |   18120
 10.0.0.1  |   4.0 | 117807.0 |   114687 |  121102
 10.0.0.10 |   4.0 | 120451.0 |   117261 |  123820
(3 rows)
 source    | ports | bytes
-----------+-------+-------
 10.0.0.99 |   300 | 18000
(1 row)
"""

from __future__ import annotations

import tempfile

import pyarrow as pa

import millpond


def packets() -> pa.Table:
    """Ten minutes: ten hosts that each talk to four ports, and one that tries a new port every second."""
    rows = [
        {"source": f"10.0.0.{host}", "port": (80, 443, 22, 53)[(second + host) % 4], "bytes": 400 + host, "t": second}
        for second in range(600)
        for host in range(1, 11)
    ]
    rows += [{"source": "10.0.0.99", "port": 1000 + second, "bytes": 60, "t": second} for second in range(600)]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["t"]))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder) as db:
        db.sql("""
            CREATE STREAMING TABLE packets (source STRING, port INT, bytes INT, t BIGINT) TIMESTAMP BY t;
            CREATE CONTINUOUS QUERY traffic AS
              SELECT source, APPROX_DISTINCT(port, 0.1) AS ports, APPROX_SUM(bytes, 0.05) AS bytes,
                     APPROX_SUM_LOWER(bytes, 0.05) AS at_least, APPROX_SUM_UPPER(bytes, 0.05) AS at_most
              FROM packets [INTERVAL '5' MINUTE] GROUP BY source SAMPLE INTERVAL '1' MINUTE
        """)
        rows = packets()
        for start in range(0, len(rows), 1000):
            db.append("packets", rows.slice(start, 1000))
            db.tick()
        db.advance("packets", 601)
        db.tick()
        answer = db.sql("""
            SELECT source, ROUND(ports) AS ports, ROUND(bytes) AS bytes, at_least, at_most FROM traffic
            ORDER BY ports DESC, source LIMIT 3
        """)
        print(answer)
        answer = db.sql("""
            SELECT source, COUNT(DISTINCT port) AS ports, SUM(bytes) AS bytes
            FROM packets WHERE VALID(packets) OVERLAPS PERIOD(300, 601)  -- the same window: 300 <= t < 601
            GROUP BY source ORDER BY ports DESC LIMIT 1
        """)
        print(answer)


if __name__ == "__main__":
    main()
