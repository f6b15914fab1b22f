"""A picture of generated traffic, to judge it by eye: load, density, speed, and the road around an accident.

One SVG, or HTML around it, without any other file; it is made from the input file alone. Heat maps have a pixel for
each minute and mile, as PNG within the SVG. Around the accident that lasts longest, each vehicle's way is drawn in
time and space, coloured by speed: a queue shows as a wedge of flat red lines that grows against the traffic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from linear_road import records
from linear_road.plots import HEAT, HEIGHT, SPEED, WIDTH, Array, Axis, colours, heat_map, panel

MARGIN: Final = 60
COLUMNS: Final = ("Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos")
STOPPED_REPORTS: Final = 4
MILES_BEHIND, MILES_PAST, SECONDS_AROUND = 6, 3, 600
"""How much of the road and of the time around an accident is drawn."""
WAYS: Final = 600
"""So many vehicles are drawn there at most; of more, each n-th."""
SPEED_CLASSES: Final = (0, 10, 20, 30, 40, 50)


def draw(input: Path, out: Path, xway: int = 0) -> None:
    """Draw the traffic of one expressway in `input` (CSV or Parquet) into `out`, by its ending HTML or SVG."""
    seen = _survey(input, xway)
    panels = [_load(seen)]
    for direction, heading in ((records.EAST, "eastbound"), (records.WEST, "westbound")):
        reports, speeds = seen.reports[direction], seen.speeds[direction]
        if reports.any():
            cars = reports / 2  # a vehicle reports twice a minute
            mean = np.divide(speeds, reports, out=np.full(reports.shape, np.nan), where=reports > 0)
            axes = Axis("minute", *seen.minutes), Axis("mile", 0, records.SEGMENTS)
            panels.append(heat_map(f"cars per segment, {heading}", cars, *axes, HEAT))
            panels.append(heat_map(f"mean speed (mph), {heading}", mean, *axes, SPEED))
    crash = _longest_accident(seen.standing)
    if crash is not None:
        panels.append(_space_time(crash, _around(input, xway, crash)))
    svg = _page(f"Linear Road, expressway {xway}: {input.name}", panels)
    html = f'<!doctype html>\n<meta charset="utf-8">\n<title>Linear Road traffic</title>\n{svg}'
    out.write_text(html if out.suffix == ".html" else svg)


# --- what is in the file ----------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Survey:
    """Sums by direction, minute and segment of one expressway; its rows with speed 0; reports a minute of all."""

    reports: Array
    speeds: Array
    load: Array
    standing: pa.Table
    minutes: tuple[int, int]


def _survey(input: Path, xway: int) -> _Survey:
    shape = (2, records.RUN_MINUTES, records.SEGMENTS)
    reports, speeds = np.zeros(shape), np.zeros(shape)
    load = np.zeros(records.RUN_MINUTES)
    standing = []
    for rows in _reports(input):
        load += np.bincount(rows["Time"].to_numpy() // 60, minlength=len(load))
        rows = rows.filter(pc.equal(rows["XWay"], xway))
        place = (rows["Dir"].to_numpy(), rows["Time"].to_numpy() // 60, rows["Seg"].to_numpy())
        flat = np.ravel_multi_index(place, shape)
        reports += np.bincount(flat, minlength=reports.size).reshape(shape)
        speeds += np.bincount(flat, rows["Spd"].to_numpy(), minlength=reports.size).reshape(shape)
        standing.append(rows.filter(pc.equal(rows["Spd"], 0)))
    if not reports.any():
        raise ValueError(f"{input.name} has no position report from expressway {xway}")
    minutes = np.flatnonzero(load)
    first, end = int(minutes[0]), int(minutes[-1]) + 1
    stretch = slice(first, end)
    return _Survey(reports[:, stretch], speeds[:, stretch], load[stretch], pa.concat_tables(standing), (first, end))


def _reports(input: Path) -> Iterator[pa.Table]:
    """The position reports of a file, piece by piece."""
    batches: Iterator[pa.RecordBatch]
    if input.suffix == ".parquet":
        batches = pyarrow.parquet.ParquetFile(input).iter_batches(columns=list(COLUMNS))
    else:
        reading = pyarrow.csv.ReadOptions(column_names=records.INPUT.names)
        converting = pyarrow.csv.ConvertOptions(column_types=records.INPUT, include_columns=list(COLUMNS))
        batches = iter(pyarrow.csv.open_csv(input, reading, convert_options=converting))
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        yield rows.filter(pc.equal(rows["Type"], records.POSITION))


@dataclass(frozen=True, slots=True)
class _Crash:
    direction: int
    position: int
    first: int
    """Second of the first report from the place, and of the last."""
    last: int


def _longest_accident(standing: pa.Table) -> _Crash | None:
    """Of two vehicles or more that stood at one place for four reports or more each."""
    place = ["Dir", "Lane", "Pos"]
    stays = standing.group_by([*place, "VID"]).aggregate([("Time", "min"), ("Time", "max"), ("Time", "count")])
    stays = stays.filter(pc.greater_equal(stays["Time_count"], STOPPED_REPORTS))
    crashes = stays.group_by(place).aggregate([("Time_min", "max"), ("Time_max", "min"), ("VID", "count")])
    found = [
        _Crash(row["Dir"], row["Pos"], row["Time_min_max"], row["Time_max_min"])
        for row in crashes.to_pylist()
        if row["VID_count"] > 1
    ]
    return max(found, key=lambda crash: (crash.last - crash.first, crash.first), default=None)


def _around(input: Path, xway: int, crash: _Crash) -> pa.Table:
    """The reports from the road around an accident, by vehicle and time; `Pos` becomes miles past the accident."""
    found = []
    for rows in _reports(input):
        time, miles = rows["Time"].to_numpy(), rows["Pos"].to_numpy() - crash.position
        miles = miles / records.SEGMENT_FEET * (1 if crash.direction == records.EAST else -1)
        keep = (rows["XWay"].to_numpy() == xway) & (rows["Dir"].to_numpy() == crash.direction)
        keep &= (miles > -MILES_BEHIND) & (miles < MILES_PAST)
        keep &= (time > crash.first - SECONDS_AROUND) & (time < crash.last + SECONDS_AROUND)
        near = rows.select(["VID", "Time", "Spd"]).append_column("miles", pa.array(miles))
        found.append(near.filter(pa.array(keep)))
    return pa.concat_tables(found).sort_by([("VID", "ascending"), ("Time", "ascending")])


# --- panels -----------------------------------------------------------------------------------------------------------
def _load(seen: _Survey) -> str:
    minutes = np.arange(*seen.minutes)
    x, y = Axis("minute", *seen.minutes), Axis("", 0, float(seen.load.max()) * 1.05)
    points = zip(x.at(minutes + 0.5, WIDTH), HEIGHT - y.at(seen.load, HEIGHT), strict=True)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    content = f'<polyline points="{line}" fill="none" stroke="#1f4e99" stroke-width="1.5"/>'
    return panel(f"reports per minute, all expressways ({seen.load.sum():,.0f} in all)", x, y, content)


def _space_time(crash: _Crash, ways: pa.Table) -> str:
    vid, time, speed, mile = (ways[name].to_numpy() for name in ("VID", "Time", "Spd", "miles"))
    every = max(1, len(np.unique(vid)) // WAYS)
    x = Axis("minute", max(crash.first - SECONDS_AROUND, 0) / 60, (crash.last + SECONDS_AROUND) / 60)
    y = Axis("miles past the accident", -MILES_BEHIND, MILES_PAST)
    across, up = x.at(time / 60, WIDTH), HEIGHT - y.at(mile, HEIGHT)
    chosen = np.unique(vid, return_inverse=True)[1] % every == 0
    step = np.flatnonzero(chosen[:-1] & (np.diff(vid) == 0) & (np.diff(time) == records.REPORT_SECONDS))
    pace = np.searchsorted(SPEED_CLASSES, (speed[step] + speed[step + 1]) / 2, "right") - 1
    classes = len(SPEED_CLASSES)
    paces = colours(np.arange(classes)[None, :] / (classes - 1), SPEED)[0]
    parts = []
    for number, (red, green, blue) in enumerate(paces):
        some = step[pace == number]
        path = "".join(f"M{across[i]:.1f} {up[i]:.1f}L{across[i + 1]:.1f} {up[i + 1]:.1f}" for i in some)
        colour = f"rgb({red},{green},{blue})"
        parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="0.6" fill="none"/>')
        label = f"{SPEED_CLASSES[number]}+"
        parts.append(f'<text x="{WIDTH + 8}" y="{HEIGHT - 20 * number}" style="fill:{colour}">{label}</text>')
    begin, end = x.at(crash.first / 60, WIDTH), x.at(crash.last / 60, WIDTH)
    level = HEIGHT - y.at(0.0, HEIGHT)
    parts.append(f'<path d="M{begin:.1f} {level:.1f}H{end:.1f}" stroke="black" stroke-width="2"/>')
    mile_of = crash.position / records.SEGMENT_FEET
    heading = "eastbound" if crash.direction == records.EAST else "westbound"
    title = f"accident at mile {mile_of:.1f} {heading}: one vehicle in {every}, by speed"
    return panel(title, x, y, "\n".join(parts))


# --- drawing ----------------------------------------------------------------------------------------------------------
def _page(title: str, panels: list[str]) -> str:
    """The panels, two in a row behind the first."""
    across, down = WIDTH + 2 * MARGIN + 20, HEIGHT + 2 * MARGIN - 30
    places = [(0, 0), *((i % 2 * across, (1 + i // 2) * down) for i in range(len(panels) - 1))]
    height = max(y for _, y in places) + down + 50
    drawn = "\n".join(
        f'<g transform="translate({x + MARGIN} {y + 80})">{panel}</g>'
        for (x, y), panel in zip(places, panels, strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * across}" height="{height}">\n'
        "<style>text{font:11px sans-serif;fill:#222}.title{font-weight:bold}.frame{fill:none;stroke:#555}</style>\n"
        f'<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="{MARGIN}" y="30" style="font-size:16px">{title}</text>\n{drawn}\n</svg>\n'
    )
