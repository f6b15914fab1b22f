"""The folder of a run that never ran: small files with figures that are easy to work out again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MINUTES = range(64, 70)
"""Simulated minutes that have answers."""


def toll_rows(minute: int) -> list[tuple[int, float]]:
    """Time and response of the toll notifications of a minute: from 0.5 s, later minutes slower."""
    return [(minute * 60 + 6 * i, 0.5 + 0.01 * i + 0.1 * (minute - 64)) for i in range(10)]


def canned_run(folder: Path, *, late: bool = False, verdict: bool = True, speed: str = "6") -> Path:
    """Write it. With `late` one balance took 7 s, beyond its limit."""
    folder.mkdir(parents=True)
    lines = []
    for minute in MINUTES:
        for number, (t, response) in enumerate(toll_rows(minute)):
            lines.append(f"0,{100 + number},{t},{t + response:.3f},35,{98 * number}")
        t = minute * 60
        lines.append(f"1,{t},{t + 0.7:.3f},101,55")
        lines.append(f"2,{t},{t + (7.0 if late and minute == 66 else 0.4):.3f},{t},{minute},1250")
        lines.append(f"3,{t},{t + 0.25:.3f},{1000 + minute},7")
    (folder / "output.csv").write_text("\n".join(lines) + "\n")
    handed = [(s, s, 1000.0 + s / 6, 1000.0 + s / 6 + 0.01, 150) for s in range(64 * 60, 70 * 60)]
    (folder / "driver.csv").write_text("".join(f"{a},{b},{c:.4f},{d:.4f},{e}\n" for a, b, c, d, e in handed))
    meters = ["wall,handed,answered,tuples,written,tick,cpu,rss_mb,free_mb"]
    for i in range(60):
        use = f"{0.3 + i / 300:.3f},{1 + (i % 7) / 10:.1f},{1500 + 5 * i}"
        meters += [f"{2000 + i},{3840 + 6 * i},{3838 + 6 * i},{900 * i},30,{use},9000"]
    (folder / "meters.csv").write_text("\n".join(meters) + "\n")
    _write(folder / "run.json", run_json(speed))
    facts = {"tuples": 54_000, "reports": 53_500, "first": 3840, "last": 4199, "xways": 1.0}
    paths: dict[str, Any] = {"input": "/data/input.csv", "tolls": None, "segments": None, "pond": None}
    _write(folder / "begun.json", {**paths, "today": 1, "own_pond": True, "facts": facts})
    (folder / "prepared.json").write_text("{}")
    road = ["minute,xway,dir,seg,lav,toll,ahead"]
    for minute in MINUTES:
        for direction in (0, 1):
            for seg in range(100):
                ahead = seg - 55 if direction == 1 and 55 <= seg <= 59 and minute > 65 else ""
                toll = 0 if ahead != "" or seg % 2 else 2 * seg * seg
                road.append(f"{minute},0,{direction},{seg},{20 + seg // 3},{toll},{ahead}")
    (folder / "road.csv").write_text("\n".join(road) + "\n")
    if verdict:
        _write(folder / "verdict.json", verdict_json(late))
    return folder


def run_json(speed: str) -> dict[str, Any]:
    answer = {"answers": 6, "mean": 0.4, "p99": 0.41, "max": 0.4, "minutes": {}}
    return {
        "config": {"input": "/data/input.csv", "out": "run1", "speed": speed, "fast_until": None, "today": 1},
        "machine": {
            "cores": 2,
            "processor": "a processor",
            "memory": 25_000_000_000,
            "python": "3.11",
            "segments": 100,
        },
        "seconds": [3840, 4199],
        "tuples": 54_000,
        "wall": 60.0,
        "driver_behind": 0.02,
        "ticks": {"count": 120, "median": 0.31, "p99": 0.5, "max": 0.6},
        "kept_reports": 53_500,
        "answers": {str(kind): answer for kind in range(5)},
        "limits": {"0": 5, "1": 5, "2": 5, "3": 10, "4": 30},
    }


def verdict_json(late: bool) -> dict[str, Any]:
    names = ("toll", "accident", "balance", "expenditure", "travel time")
    zero = {"missing": 0, "unexpected": 0, "wrong": 0}
    types = {
        name: {"type": i, "expected": count, "right": count, "late": 0, **zero}
        for i, (name, count) in enumerate(zip(names, (60, 6, 6, 6, 0), strict=True))
    }
    return {"ok": not late, "correct": True, "late": int(late), "late_ok": False, "types": types}


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content))
