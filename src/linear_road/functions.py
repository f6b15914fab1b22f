"""The two functions of the reference scenario, for `CREATE AGGREGATE` and `CREATE TABLE FUNCTION`.

`trajectory` (the paper's TRJ) draws the way of a vehicle from its reports; `near` (NEAR) finds the vehicles that passed a
segment, to search for witnesses. `near` expects the reports in a table `posreports` with the columns of Linear Road.
"""

from __future__ import annotations

import json

import pyarrow as pa

import millpond


def trajectory(t: list[int], xway: list[int], dir: list[int], seg: list[int], pos: list[int]) -> str:
    """The reports of a vehicle in time order as a polyline: JSON text, a list of [t, xway, dir, seg, pos].

    A vehicle that stands still keeps reporting the same place: of reports that differ in time alone the first and the
    last are kept, which is all that a line needs.

    >>> trajectory([0, 30, 60, 90], [0] * 4, [0] * 4, [5, 6, 6, 6], [100, 200, 200, 200])
    '[[0, 0, 0, 5, 100], [30, 0, 0, 6, 200], [90, 0, 0, 6, 200]]'
    """
    points = list(zip(t, xway, dir, seg, pos, strict=True))
    bends = [
        point
        for place, point in enumerate(points)
        if not (0 < place < len(points) - 1 and points[place - 1][1:] == point[1:] == points[place + 1][1:])
    ]
    return json.dumps(bends)


def near(pond: millpond.Reader, xway: int, seg: int, within: int, since: int, until: int) -> pa.Table:
    """The vehicles that reported from at most `within` segments beside `seg` at a time in [since, until): which they are,
    between which times they were there, how often they reported, and how fast they were on average.
    """
    return pond.sql(
        f"""
        SELECT vid, dir, MIN(t) AS entered, MAX(t) AS seen_last, COUNT(*) AS reports, AVG(spd) AS speed
        FROM posreports
        WHERE VALID(posreports) OVERLAPS PERIOD({since:d}, {until:d})
          AND xway = {xway:d} AND seg BETWEEN {seg - within:d} AND {seg + within:d}
        GROUP BY vid, dir ORDER BY vid, dir
        """
    ).arrow()
