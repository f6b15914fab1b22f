"""Small plots as SVG text: axes, lines, bars and heat strips, for the report and for pictures of traffic.

Colours of text, frame and series are left to the page by classes (`frame`, `grid`, `s0` ... `s5`, `limit`), so that one
drawing serves a light and a dark page; only heat maps bring their own colours, as PNG within the SVG.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WIDTH, HEIGHT = 560, 260
LEFT, RIGHT, ABOVE, BELOW = 60, 62, 28, 40
"""Room around a panel for its axes, its legend and its title."""

HEAT: Final = ((13, 8, 135), (126, 3, 168), (204, 71, 120), (248, 149, 64), (240, 249, 33))
SPEED: Final = ((165, 0, 38), (244, 109, 67), (254, 224, 139), (102, 189, 99), (0, 104, 55))
MISSING: Final = (235, 235, 235)


@dataclass(frozen=True, slots=True)
class Axis:
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


def axis_over(name: str, *values: Array, low: float | None = None, high: float | None = None) -> Axis:
    """An axis that has room for all `values` that are numbers, never of no length."""
    known = np.concatenate([np.asarray(some, float).ravel() for some in values] or [np.empty(0)])
    known = known[np.isfinite(known)]
    bottom = low if low is not None else (float(known.min()) if len(known) else 0.0)
    top = high if high is not None else (float(known.max()) * 1.05 if len(known) else 1.0)
    return Axis(name, bottom, top if top > bottom else bottom + 1.0)


@dataclass(frozen=True, slots=True)
class Series:
    """A line or bars: `kind` is the class that gives the colour, `name` stands in the legend."""

    name: str
    x: Array
    y: Array
    kind: str
    dashed: bool = False


def panel(title: str, x: Axis, y: Axis, content: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    """A frame with axes; `content` is drawn in it, with (0, 0) at the top left."""
    parts = [f'<text x="0" y="-10" class="title">{html.escape(title)}</text>', content]
    parts.append(f'<rect width="{width}" height="{height}" class="frame"/>')
    for tick in x.ticks():
        at = x.at(tick, width)
        parts.append(f'<path d="M{at:.1f} {height}v4" class="frame"/>')
        parts.append(f'<text x="{at:.1f}" y="{height + 16}" text-anchor="middle">{tick:,g}</text>')
    for tick in y.ticks():
        at = height - y.at(tick, height)
        parts.append(f'<path d="M0 {at:.1f}h-4" class="frame"/>')
        parts.append(f'<text x="-7" y="{at + 4:.1f}" text-anchor="end">{tick:,.10g}</text>')
    parts.append(f'<text x="{width}" y="{height + 32}" text-anchor="end">{html.escape(x.name)}</text>')
    parts.append(f'<text x="{width}" y="-10" text-anchor="end">{html.escape(y.name)}</text>')
    return "\n".join(parts)


def figure(panel_text: str, label: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    """One panel as an SVG of its own, as wide as the page lets it be."""
    across, down = LEFT + width + RIGHT, ABOVE + height + BELOW
    return (
        f'<svg viewBox="0 0 {across} {down}" role="img" aria-label="{html.escape(label, quote=True)}">'
        f'<g transform="translate({LEFT} {ABOVE})">{panel_text}</g></svg>'
    )


def lines(
    title: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    limit: float | None = None,
    size: tuple[int, int] = (WIDTH, HEIGHT),
) -> str:
    """Series as lines, broken where a value is not a number; a point between two breaks is a dot. A `limit` within the
    axis is drawn across."""
    width, height = size
    drawn = [_grid(y, width, height)]
    if limit is not None and y.low <= limit <= y.high:
        at = height - y.at(limit, height)
        drawn.append(f'<path d="M0 {at:.1f}H{width}" class="limit"/>')
        drawn.append(f'<text x="4" y="{at - 4:.1f}" class="limit-text">limit {limit:g}</text>')
    for some in series:
        for part in _unbroken(some):
            points = " ".join(
                f"{a:.1f},{b:.1f}"
                for a, b in zip(x.at(some.x[part], width), height - y.at(some.y[part], height), strict=True)
            )
            dash = ' stroke-dasharray="4 3"' if some.dashed else ""
            if " " in points:
                drawn.append(f'<polyline points="{points}" class="line {some.kind}"{dash}/>')
            else:
                across, down = points.split(",")
                drawn.append(f'<circle cx="{across}" cy="{down}" r="1.8" class="dot {some.kind}"/>')
    drawn.append(_legend([(some.name, some.kind) for some in series if some.name], width))
    return figure(panel(title, x, y, "\n".join(drawn), width, height), title, width, height)


def bars(title: str, names: Sequence[str], values: Array, unit: str, size: tuple[int, int] = (WIDTH, HEIGHT)) -> str:
    """A bar to the right for each name, with its value behind it."""
    width, height = size
    most = max(float(np.nanmax(values)), 1e-9)
    step = height / max(len(names), 1)
    drawn = [f'<text x="0" y="-10" class="title">{html.escape(title)}</text>']
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        long, middle = value / most * (width - 190), place * step + step / 2
        drawn.append(f'<text x="112" y="{middle + 4:.1f}" text-anchor="end">{html.escape(name)}</text>')
        drawn.append(
            f'<rect x="120" y="{middle - step * 0.36:.1f}" width="{max(long, 1):.1f}" height="{step * 0.72:.1f}" '
            f'class="bar s{place % 6}"/>'
        )
        drawn.append(f'<text x="{126 + long:.1f}" y="{middle + 4:.1f}">{value:,.4g} {html.escape(unit)}</text>')
    return figure("\n".join(drawn), title, width, height)


def heat_map(
    title: str, values: Array, x: Axis, y: Axis, palette: Sequence[tuple[int, ...]], size: tuple[int, int] = (WIDTH, HEIGHT),
    marks: Iterable[tuple[float, float]] = (),
) -> str:  # fmt: skip
    """A panel of `values` by column (along x) and row (up y); NaN where there is none. `marks` are drawn as crosses."""
    width, height = size
    top = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    pixels = colours(values.T[::-1] / max(top, 1e-9), palette)
    legend = colours(np.linspace(1, 0, 64)[:, None], palette)
    content = (
        f'{image(pixels, width, height)}<g transform="translate({width + 8} 0)">{image(legend, 10, height)}'
        f'<text x="14" y="10">{_short(top)}</text><text x="14" y="{height}">0</text></g>'
    )
    for mark_x, mark_y in marks:
        left, over = x.at(mark_x, width) - 3, height - y.at(mark_y, height) - 3
        for kind in ("mark-edge", "mark"):
            content += f'<path d="M{left:.1f} {over:.1f}l6 6m0 -6l-6 6" class="{kind}"/>'
    return panel(title, x, y, content, width, height)


def colours(shares: Array, palette: Sequence[tuple[int, ...]]) -> Array:
    """A colour (a last dimension of three bytes) for each share of the palette's length, grey where there is none."""
    places = np.linspace(0, 1, len(palette))
    filled = np.nan_to_num(shares)
    mixed = np.stack([np.interp(filled, places, channel) for channel in np.array(palette).T], axis=-1)
    mixed[np.isnan(shares)] = MISSING
    return mixed.astype(np.uint8)


def image(pixels: Array, width: int, height: int) -> str:
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


def _short(value: float) -> str:
    """A whole number, thousands as such where there are many."""
    return f"{value:,.0f}" if value < 10_000 else f"{value / 1000:,.0f}k"


def _grid(y: Axis, width: int, height: int) -> str:
    return "".join(f'<path d="M0 {height - y.at(tick, height):.1f}H{width}" class="grid"/>' for tick in y.ticks())


def _unbroken(series: Series) -> list[slice]:
    """The stretches of a series in which both coordinates are numbers."""
    known = np.isfinite(np.asarray(series.x, float)) & np.isfinite(np.asarray(series.y, float))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _legend(names: Sequence[tuple[str, str]], width: int) -> str:
    """Beside the title, from the right: names are short."""
    drawn, right = [], width - 20
    for name, kind in reversed(names):
        right -= 32 + 6 * len(name)
        drawn.append(f'<path d="M{right} -14h16" class="line {kind}"/>')
        drawn.append(f'<text x="{right + 20}" y="-10">{html.escape(name)}</text>')
    return "".join(drawn)
