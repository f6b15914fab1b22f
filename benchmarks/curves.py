"""Small pictures of curves, side by side, as SVG text: nothing to install, and the same bytes every time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 360, 230, 52, 26, 30
COLOURS = ("#999999", "#bbbbbb", "#c49a00", "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#17becf")
POINTS = 80


@dataclass(frozen=True)
class Panel:
    """Curves over the same x; the y axis is logarithmic, and values below `floor` are drawn there."""

    title: str
    across: str
    x: Any
    curves: dict[str, Any]
    floor: float = 0.1


def draw(panels: list[Panel], columns: int) -> str:
    """All panels, and one legend below."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    rows = math.ceil(len(panels) / columns)
    width, height = columns * WIDTH, rows * HEIGHT + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, panel in enumerate(panels):
        parts.append(f'<g transform="translate({i % columns * WIDTH},{i // columns * HEIGHT})">')
        parts += [*_panel(panel, colours), "</g>"]
    for i, name in enumerate(names):
        at = 20 + i * (width - 20) // len(names)
        parts.append(f'<path d="M{at} {height - 16}h18" stroke="{colours[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{at + 22}" y="{height - 12}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, colours: dict[str, str]) -> list[str]:
    right, bottom = WIDTH - 12, HEIGHT - BOTTOM
    high = max(float(np.max(curve)) for curve in panel.curves.values())
    decades = math.log10(panel.floor), max(math.ceil(math.log10(max(high, panel.floor))), math.log10(panel.floor) + 1)
    last = float(panel.x[-1])

    def place(x: float, y: float) -> str:
        up = (math.log10(max(y, panel.floor)) - decades[0]) / (decades[1] - decades[0])
        return f"{LEFT + (right - LEFT) * x / last:.1f},{bottom - (bottom - TOP) * up:.1f}"

    parts = [f'<text x="{LEFT}" y="{TOP - 10}" font-weight="bold">{escape(panel.title)}</text>']
    for decade in range(math.ceil(decades[0]), int(decades[1]) + 1):
        y = place(0, 10.0**decade).split(",")[1]
        parts.append(f'<path d="M{LEFT} {y}H{right}" stroke="#eeeeee"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{float(y) + 3:.1f}" text-anchor="end">{10.0**decade:g}</text>')
    parts.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#666666"/>')
    parts.append(f'<text x="{right}" y="{bottom + 14}" text-anchor="end">{last:,.0f} {escape(panel.across)}</text>')
    for name, curve in panel.curves.items():
        chosen = np.unique(np.linspace(0, len(panel.x) - 1, POINTS).astype(int))
        points = " ".join(place(float(panel.x[i]), float(curve[i])) for i in chosen)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colours[name]}" stroke-width="1.5"/>')
    return parts
