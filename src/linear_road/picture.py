"""A picture of generated traffic, to judge it by eye: load, density, speed, and the road around an accident.

One SVG, or HTML around it, without any other file; it is made from the input file alone. Heat maps have a pixel for
each minute and mile, as PNG within the SVG. Around the accident that lasts longest, each vehicle's way is drawn in
time and space, coloured by speed: a queue shows as a wedge of flat red lines that grows against the traffic.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from linear_road import records

Array = npt.NDArray[Any]

WIDTH, HEIGHT, MARGIN = 560, 260, 60
COLUMNS: Final = ("Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos")
STOPPED_REPORTS: Final = 4
MILES_BEHIND, MILES_PAST, SECONDS_AROUND = 6, 3, 600
"""How much of the road and of the time around an accident is drawn."""
WAYS: Final = 600
"""So many vehicles are drawn there at most; of more, each n-th."""
SPEED_CLASSES: Final = (0, 10, 20, 30, 40, 50)

HEAT: Final = ((13, 8, 135), (126, 3, 168), (204, 71, 120), (248, 149, 64), (240, 249, 33))
SPEED: Final = ((165, 0, 38), (244, 109, 67), (254, 224, 139), (102, 189, 99), (0, 104, 55))
MISSING: Final = (235, 235, 235)


def draw(input: Path, out: Path, xway: int = 0) -> None:
    """Draw the traffic of one expressway in `input` (CSV or Parquet) into `out`, by its ending HTML or SVG."""
    seen = _survey(input, xway)
    panels = [_load(seen)]
    for direction, heading in ((records.EAST, "eastbound"), (records.WEST, "westbound")):
        reports, speeds = seen.reports[direction], seen.speeds[direction]
        if reports.any():
            cars = reports / 2  # a vehicle reports twice a minute
            mean = np.divide(speeds, reports, out=np.full(reports.shape, np.nan), where=reports > 0)
            panels.append(_heat_map(f"cars per segment, {heading}", cars, seen.minutes, HEAT))
            panels.append(_heat_map(f"mean speed (mph), {heading}", mean, seen.minutes, SPEED))
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
@dataclass(frozen=True, slots=True)
class _Axis:
    """Numbers on a line: `low` at the left or bottom, `high` at the other end."""

    name: str
    low: float
    high: float

    def ticks(self) -> list[float]:
        span = self.high - self.low
        unit = 10.0 ** np.floor(np.log10(span))
        step = next(unit * part for part in (0.1, 0.2, 0.5, 1.0, 2.0) if span / (unit * part) <= 7)
        return [float(tick) for tick in np.arange(np.ceil(self.low / step), np.floor(self.high / step) + 1) * step]

    def at(self, values: Array | float, length: int) -> Any:
        return (values - self.low) / (self.high - self.low) * length


def _panel(title: str, x: _Axis, y: _Axis, content: str) -> str:
    """A frame with axes; `content` is drawn in it, with (0, 0) at the top left."""
    parts = [f'<text x="0" y="-10" class="title">{title}</text>', content]
    parts.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#555"/>')
    for tick in x.ticks():
        at = x.at(tick, WIDTH)
        parts.append(f'<path d="M{at:.1f} {HEIGHT}v4" stroke="#555"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT + 16}" text-anchor="middle">{tick:,g}</text>')
    for tick in y.ticks():
        at = HEIGHT - y.at(tick, HEIGHT)
        parts.append(f'<path d="M0 {at:.1f}h-4" stroke="#555"/>')
        parts.append(f'<text x="-7" y="{at + 4:.1f}" text-anchor="end">{tick:,.10g}</text>')
    parts.append(f'<text x="{WIDTH}" y="{HEIGHT + 32}" text-anchor="end">{x.name}</text>')
    parts.append(f'<text x="{WIDTH}" y="-10" text-anchor="end">{y.name}</text>')
    return "\n".join(parts)


def _load(seen: _Survey) -> str:
    minutes = np.arange(*seen.minutes)
    x, y = _Axis("minute", *seen.minutes), _Axis("", 0, float(seen.load.max()) * 1.05)
    points = zip(x.at(minutes + 0.5, WIDTH), HEIGHT - y.at(seen.load, HEIGHT), strict=True)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    content = f'<polyline points="{line}" fill="none" stroke="#1f4e99" stroke-width="1.5"/>'
    return _panel(f"reports per minute, all expressways ({seen.load.sum():,.0f} in all)", x, y, content)


def _heat_map(title: str, values: Array, minutes: tuple[int, int], palette: Sequence[tuple[int, ...]]) -> str:
    """`values` by minute and segment; NaN where there is none."""
    top = float(np.nanmax(values))
    colours = _colours(values.T[::-1] / max(top, 1e-9), palette)
    legend = _colours(np.linspace(1, 0, 64)[:, None], palette)
    content = (
        f'{_image(colours, WIDTH, HEIGHT)}<g transform="translate({WIDTH + 8} 0)">{_image(legend, 10, HEIGHT)}'
        f'<text x="14" y="10">{top:.0f}</text><text x="14" y="{HEIGHT}">0</text></g>'
    )
    return _panel(title, _Axis("minute", *minutes), _Axis("mile", 0, records.SEGMENTS), content)


def _space_time(crash: _Crash, ways: pa.Table) -> str:
    vid, time, speed, mile = (ways[name].to_numpy() for name in ("VID", "Time", "Spd", "miles"))
    every = max(1, len(np.unique(vid)) // WAYS)
    x = _Axis("minute", max(crash.first - SECONDS_AROUND, 0) / 60, (crash.last + SECONDS_AROUND) / 60)
    y = _Axis("miles past the accident", -MILES_BEHIND, MILES_PAST)
    across, up = x.at(time / 60, WIDTH), HEIGHT - y.at(mile, HEIGHT)
    chosen = np.unique(vid, return_inverse=True)[1] % every == 0
    step = np.flatnonzero(chosen[:-1] & (np.diff(vid) == 0) & (np.diff(time) == records.REPORT_SECONDS))
    pace = np.searchsorted(SPEED_CLASSES, (speed[step] + speed[step + 1]) / 2, "right") - 1
    classes = len(SPEED_CLASSES)
    colours = _colours(np.arange(classes)[None, :] / (classes - 1), SPEED)[0]
    parts = []
    for number, (red, green, blue) in enumerate(colours):
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
    return _panel(title, x, y, "\n".join(parts))


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
        "<style>text{font:11px sans-serif;fill:#222}.title{font-weight:bold}</style>\n"
        f'<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="{MARGIN}" y="30" style="font-size:16px">{title}</text>\n{drawn}\n</svg>\n'
    )


def _colours(shares: Array, palette: Sequence[tuple[int, ...]]) -> Array:
    """A colour (a last dimension of three bytes) for each share of the palette's length, grey where there is none."""
    places = np.linspace(0, 1, len(palette))
    filled = np.nan_to_num(shares)
    mixed = np.stack([np.interp(filled, places, channel) for channel in np.array(palette).T], axis=-1)
    mixed[np.isnan(shares)] = MISSING
    return mixed.astype(np.uint8)


def _image(pixels: Array, width: int, height: int) -> str:
    """Pixels (rows, columns, 3) as an SVG image with a PNG in it."""
    rows, columns, _ = pixels.shape
    raw = b"".join(b"\0" + pixels[row].tobytes() for row in range(rows))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    data = base64.b64encode(png).decode()
    return (
        f'<image width="{width}" height="{height}" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )
