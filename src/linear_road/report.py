"""The HTML report of a run: one file with everything in it.

It shows what was measured and nothing else: response times over simulated time per type, load, CPU, memory and ticks over
real time, the state of the road, the validator's verdict if there is one, and what others published. A run is no rating: the
report says what part of the benchmark it was and at what speed. The folder of a rating gets a report of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from linear_road import page, plots, published, rating_report
from linear_road.application import ANSWERS
from linear_road.plots import Axis, Series, axis_over
from linear_road.run_record import Record, load_by_minute, read_record
from linear_road.screen import NAMES, clock
from linear_road.wording import all_right, counted

FILE: Final = "report.html"
_SMALL: Final = (430, 190)


def write_report(folder: Path) -> Path:
    """Write the report of a run, or of a rating, into its folder; its path."""
    rating = folder / rating_report.RESULT
    text = rating_report.rating_page(rating) if rating.exists() else run_page(read_record(folder))
    path = folder / FILE
    path.write_text(text, "utf-8")
    return path


def run_page(record: Record) -> str:
    size = "" if record.xways is None else f", L = {record.xways:g}"
    parts = [f"<h1>Linear Road{size}</h1>", page.paragraph(_what(record), "soft"), _verdict(record), _tiles(record)]
    parts.append(page.section("Response times", page.figures(_responses(record)), _note(record), _answers(record)))
    parts.append(page.section("Cost", page.figures(_cost(record))))
    if record.strips:
        parts.append(page.section("The road", page.figures(_road(record)), page.paragraph(_ROAD, "note")))
    if record.one_time:
        parts.append(page.section("One-time queries beside the run", _one_time(record)))
    parts.append(page.section("Beside the papers", *rating_report.comparison(_own_row(record)), _table_eight(record)))
    parts.append(page.section("Machine and versions", machine_table(record.run.get("machine", {})), _files(record)))
    return page.page(f"Linear Road{size}", parts)


_ROAD: Final = (
    "What the continuous query `conditions` said for each minute and segment: Lav, the average speed of the last five "
    "minutes, and the toll. A cross is an accident; up to four segments before it cost nothing. Grey: nothing known."
)


# --- what it was ------------------------------------------------------------------------------------------------------
def _what(record: Record) -> str:
    run = record.run
    if not run:
        return "The run is not finished: figures are of what there is."
    config = run["config"]
    speed = "as fast as it goes" if config["speed"] == "max" else f"{config['speed']} times real time"
    if record.timed_from:
        speed = f"second {record.timed_from} on at {speed}, before that replayed fast"
    first, last = run["seconds"] if run["seconds"] else (0, 0)
    span = f"seconds {first:,} to {last:,} ({clock(first)} to {clock(last)}) of 10,800"
    tuples = counted(run["tuples"], "tuple")
    return f"{Path(config['input']).name}: {tuples}, {span}; {speed}; {run['wall']:,.0f} s in all."


def _verdict(record: Record) -> str:
    verdict = record.verdict
    if verdict is None:
        return page.banner("", "Not validated", "millpond linearroad validate checks every answer against the input.")
    expected = sum(t["expected"] for t in verdict["types"].values())
    if not verdict["correct"]:
        text = f"Of {counted(expected, 'expected answer')} not all are right; see the table."
        return page.banner("bad", "Not valid", text)
    if verdict["late"]:
        text = f"{_sentence(all_right(expected))}; {verdict['late']:,} came later than the limit."
        return page.banner("warn", "Right, but not all in time", text)
    return page.banner("good", "Valid", f"{_sentence(all_right(expected))} and in time.")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tiles(record: Record) -> str:
    run, meters = record.run, record.meters
    pairs = []
    if run:
        pairs += [(f"{run['tuples']:,}", "tuples"), (f"{run['kept_reports']:,}", "reports kept and queryable")]
    pairs.append((f"{sum(int(a.counts.sum()) for a in record.answers.values()):,}", "answers"))
    tolls = record.answers[0]
    if tolls.mean is not None:
        pairs += [(f"{tolls.mean:.2f} s", "mean toll response"), (f"{tolls.max:.2f} s", "longest (limit 5 s)")]
    if run.get("ticks"):
        pairs.append((f"{run['ticks']['median']:.2f} s", "median tick"))
    if meters:
        pairs.append((f"{meters['rss_mb'].max() / 1000:.1f} GB", "most memory"))
    if run and run["config"]["speed"] != "max":
        pairs.append((f"{run['driver_behind']:.2f} s", "driver behind, at most"))
    return page.tiles(pairs)


# --- response times ---------------------------------------------------------------------------------------------------
def _responses(record: Record) -> list[str]:
    """A panel for each type, all over the same minutes."""
    seen = [a.minutes for a in record.answers.values() if len(a.minutes)]
    if not seen:
        return []
    low, high = min(m.min() for m in seen), max(m.max() for m in seen) + 1
    x = Axis("simulated minute", float(low), float(high))
    drawn = []
    for answer in ANSWERS:
        found = record.answers[answer.type]
        title = f"{NAMES[answer.type]} ({int(found.counts.sum()):,}), limit {answer.limit} s"
        if not len(found.minutes):
            drawn.append(plots.lines(title, x, Axis("s", 0, answer.limit), [], size=_SMALL))
            continue
        most = float(found.most.max())
        y = axis_over(
            "s", found.most, low=0.0, high=max(most, answer.limit) * 1.05 if most > answer.limit / 4 else None
        )
        minutes = _without_gaps(found.minutes, found.means, found.most)
        series = [Series("max", minutes[0] + 0.5, minutes[2], "s1"), Series("mean", minutes[0] + 0.5, minutes[1], "s0")]
        drawn.append(plots.lines(title, x, y, series, answer.limit, _SMALL))
    drawn.append(_load(record, x))
    return drawn


def _without_gaps(minutes: Any, *values: Any) -> list[Any]:
    """All minutes from the first to the last, NaN where there is no value: a line must not span what is not there."""
    every = np.arange(minutes[0], minutes[-1] + 1)
    place = (minutes - minutes[0]).astype(int)
    filled = []
    for some in values:
        full = np.full(len(every), np.nan)
        full[place] = some
        filled.append(full)
    return [every, *filled]


def _load(record: Record, x: Axis) -> str:
    minutes, tuples = load_by_minute(record.handed)
    series = [Series("", minutes + 0.5, tuples, "s2")]
    return plots.lines("load: tuples a minute", x, axis_over("", tuples, low=0.0), series, size=_SMALL)


def _note(record: Record) -> str:
    if record.run.get("config", {}).get("speed") == "max":
        text = (
            "At speed max tuples are handed over ahead of time and wait for their turn: late answers say nothing here."
        )
    elif record.timed_from:
        text = f"The table counts answers from second {record.timed_from} on; before it tuples were replayed fast."
    else:
        text = "Real seconds from the hand-over of a second's tuples to the writing of the answer, whatever the speed."
    return page.paragraph(text, "note")


def _answers(record: Record) -> str:
    def seconds(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    head = ["type", "limit (s)", "mean", "p99", "max", "answers", "late"]
    judged = {t["type"]: t for t in record.verdict["types"].values()} if record.verdict else {}
    rows = []
    for answer in ANSWERS:
        a = record.answers[answer.type]
        row = [NAMES[answer.type], f"{answer.limit}", seconds(a.mean), seconds(a.p99), seconds(a.max), f"{a.count:,}"]
        row.append(f"{a.late:,}")
        if judged:
            row += [
                f"{judged[answer.type][part]:,}" for part in ("expected", "right", "missing", "unexpected", "wrong")
            ]
        rows.append(row)
    return page.table([*head, *(("expected", "right", "missing", "unexpected", "wrong") if judged else ())], rows)


# --- cost -------------------------------------------------------------------------------------------------------------
def _cost(record: Record) -> list[str]:
    meters = record.meters
    if len(meters.get("wall", ())) < 2:
        return []
    wall = meters["wall"] - meters["wall"][0]
    x = Axis("real seconds", 0.0, float(wall[-1]))
    cores = float(record.run.get("machine", {}).get("cores") or meters["cpu"].max())
    rate = np.diff(meters["tuples"]) / np.maximum(np.diff(wall), 1e-9)
    panels = (
        (
            "CPU: cores busy, all processes",
            np.maximum(meters["cpu"], 0),
            "s1",
            cores,
        ),  # a process that ends takes its past along
        ("memory: resident GB, all processes", meters["rss_mb"] / 1000, "s3", None),
        (
            "tick: seconds for one round of all queries",
            np.where(meters["tick"] > 0, meters["tick"], np.nan),
            "s0",
            None,
        ),
        ("tuples handed over a real second", np.concatenate(([np.nan], rate)), "s2", None),
    )
    drawn = []
    for title, values, kind, top in panels:
        y = axis_over("", values, low=0.0, high=None if top is None else max(top, float(np.nanmax(values))) * 1.02)
        drawn.append(plots.lines(title, x, y, [Series("", wall, values, kind)], size=_SMALL))
    return drawn


def _road(record: Record) -> list[str]:
    drawn = []
    for strip in record.strips:
        x, y = Axis("minute", strip.first, strip.first + len(strip.lav)), Axis("segment", 0, strip.lav.shape[1])
        for what, values, palette in (("Lav (mph)", strip.lav, plots.SPEED), ("toll", strip.toll, plots.HEAT)):
            title = f"{what}, {strip.name}"
            drawn.append(
                plots.figure(plots.heat_map(title, values, x, y, palette, _SMALL, strip.accidents), title, *_SMALL)
            )
    return drawn


def _one_time(record: Record) -> str:
    rows = []
    for kind, theirs in published.ONE_TIME.items():
        mine = [(rows_, seconds) for name, rows_, seconds in record.one_time if name == kind]
        if mine:
            took = np.array([seconds for _, seconds in mine])
            size = np.mean([rows_ for rows_, _ in mine])
            figures = (took.mean(), np.quantile(took, 0.99), took.max(), theirs)
            rows.append([kind, f"{len(mine):,}", f"{size:,.0f}", *(f"{v:.3f}" for v in figures)])
    head = ["selectivity", "queries", "rows each", "mean s", "p99 s", "max s", "streaming tables (2017), mean s"]
    return page.table(head, rows)


# --- beside others ----------------------------------------------------------------------------------------------------
def _own_row(record: Record) -> list[str] | None:
    """This run among the ratings: only what it was, for it is no rating."""
    if record.xways is None or not record.run:
        return None
    machine = record.run["machine"]
    first, last = record.run["seconds"]
    part = f"{counted(round((last - first + 1) / 60), 'minute')} at speed {record.run['config']['speed']}"
    hardware = f"{counted(machine['cores'], 'core')}, {machine['memory'] / 1e9:.0f} GB"
    return ["this run (no rating)", "", f"{record.xways:g}", hardware, part]


def _table_eight(record: Record) -> str:
    head = ["expressways", "System X, max toll response (s)", "Aurora", "this run"]
    own = record.answers[0].max
    size = "" if record.xways is None else f"{record.xways:.1f}"
    rows = [[*row, f"{own:.2f}" if row[0] == size and own is not None else ""] for row in published.TOLL_RESPONSES]
    if size and own is not None and size not in {row[0] for row in rows}:
        rows.append([size, "-", "-", f"{own:.2f}"])
    note = f"Arasu et al. 2004, Table 8: whole seconds, three hours of traffic. {published.KEPT}"
    return page.table(head, rows) + page.paragraph(note, "note")


def machine_table(machine: dict[str, Any]) -> str:
    rows = []
    for name, value in machine.items():
        if name == "memory":
            value = f"{value / 1e9:.1f} GB"
        if name != "segments":
            rows.append([name, str(value)])
    return page.table(["machine", ""], rows, left=2)


def _files(record: Record) -> str:
    config = record.run.get("config", {})
    given = [[name, str(value)] for name, value in config.items() if value is not None]
    return page.table(["run", ""], given, left=2) if given else ""
