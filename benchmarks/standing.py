"""Bar 2: Figures 7, 8, 9 and 11 and Table 2 of the paper on PSoup, on its workload, and each sentence of its text about them.

Parts (STANDING_PARTS): figure7, figure8, table2, figure9, figure11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Options, Report
from benchmarks.psoup import arrival, composite, paper, responses
from benchmarks.psoup.api import MODES, pond
from benchmarks.psoup.paper import Found, Measured
from benchmarks.psoup.parts import chosen
from millpond.pond import Pond

LABELS = {"nothing": "nothing kept (NoMat)", "partial": "partial (PSoup-P)", "complete": "complete (PSoup-C)"}


def run(options: Options, report: Report) -> None:
    report.issue = 13
    measured: Measured = {}
    with pond(options.workdir / "pond") as db:
        for name in chosen(report, tuple(MEASURING)):
            measured |= MEASURING[name](options, report, db)
    titles = {
        "equality": "Figure 7(a): selections by equality, 1 to 4 predicates",
        "interval": "Figure 7(b): selections by intervals, 1 to 4 predicates",
        "joins": "Figure 8: joins r.a < s.b + c of two tables",
        "table2": "Table 2: interval predicates, windows of 2^15 rows",
        "arrival": "Figure 9: rows/s against queries, windows of 1,000 rows",
        "composite": "Figure 11: probing S with the R-matches of one query, one by one and in one composite probe",
    }
    for name, found in measured.items():
        report.table(titles[name], found)
    report.table("What the paper says of them", paper.judged(measured))
    _chart(report, measured)


def _figure7(options: Options, report: Report, db: Pond) -> Measured:
    return responses.selections(options, report, db)


def _figure8(options: Options, report: Report, db: Pond) -> Measured:
    return {"joins": responses.joins(options, report, db)}


def _table2(options: Options, report: Report, db: Pond) -> Measured:
    found = responses.intervals(options, report, db)
    for row in found:
        shown = zip(("NoMat", "PSoup-P", "PSoup-C"), paper.TABLE_2[row["interval predicates"]], strict=True)
        row |= {f"paper: {name}, ms": value for name, value in shown}
    return {"table2": found}


def _figure9(options: Options, report: Report, db: Pond) -> Measured:
    return {"arrival": arrival.run(options, report, db)}


def _figure11(options: Options, report: Report, db: Pond) -> Measured:
    return {"composite": composite.run(options, report)}


MEASURING: dict[str, Callable[[Options, Report, Pond], Measured]] = {
    "figure7": _figure7,
    "figure8": _figure8,
    "table2": _table2,
    "figure9": _figure9,
    "figure11": _figure11,
}

# -- pictures ---------------------------------------------------------------------------------------------------------


def _chart(report: Report, measured: Measured) -> None:
    rows = -(-len(measured) // 3)
    axes = report.draw(min(3, len(measured)), rows)
    if axes is None:
        return
    flat = list(np.atleast_1d(axes).flat)
    for axis, (name, found) in zip(flat, measured.items(), strict=False):
        DRAWING[name](axis, found)
        axis.legend(fontsize=6, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, frameon=False)
    for axis in flat[len(measured) :]:
        axis.axis("off")


def _powers(axis: Any, values: list[int]) -> None:
    """An axis on which each number is twice the one before."""
    axis.set_xscale("log", base=2)
    shown = sorted(set(values))
    shown = shown[:: -(-len(shown) // 6)]
    axis.set_xticks(shown, [f"{v:,}" for v in shown], fontsize=8)
    axis.minorticks_off()


def _shape(axis: Any, x: list[int], names: list[str], lines: dict[str, list[float]], kind: str) -> None:
    """The paper's shape: what its text says of a curve beside another, drawn beside that other as it is here."""
    for name, (beside, factor, said) in paper.SHAPES[kind].items():
        y = [factor * v for v in lines[beside]]
        axis.plot(x, y, ":", color=f"C{names.index(name)}", linewidth=1.2, label=f"the paper's {said}")


def _responses(title: str, kind: str) -> Callable[[Any, Found], None]:
    def draw(axis: Any, found: Found) -> None:
        x = [f["window"] for f in found]
        lines = {mode: [f[f"{mode}, ms"] for f in found] for mode in MODES}
        for mode, y in lines.items():
            axis.plot(x, y, marker="o", markersize=4, label=LABELS[mode])
        _shape(axis, x, list(MODES), lines, kind)
        axis.set(yscale="log", xlabel="window, rows", ylabel="ms", title=title)
        if kind != "joins":
            _powers(axis, x)

    return draw


def _draw_joins(axis: Any, found: Found) -> None:
    _responses("Figure 8: joins", "joins")(axis, found)
    for number, (value, label) in enumerate(zip(paper.JOIN_576[1:], ("PSoup-P", "PSoup-C"), strict=True), 1):
        axis.plot([576], [value], "x", color=f"C{number}", label=f"{label} in the paper")


def _draw_table2(axis: Any, found: Found) -> None:
    x = [f["interval predicates"] for f in found]
    for number, mode in enumerate(MODES):
        axis.plot(x, [f[f"{mode}, ms"] for f in found], marker="o", color=f"C{number}", label=LABELS[mode])
        published = [paper.TABLE_2[n][number] for n in x]
        axis.plot(x, published, marker="x", linestyle=":", color=f"C{number}", label="in the paper, 2002")
    axis.set(yscale="log", xlabel="interval predicates", ylabel="ms", title="Table 2", xticks=x)


def _draw_arrival(axis: Any, found: Found) -> None:
    x = [f["queries"] for f in found]
    lines = {name[: -len(", rows/s")]: [f[name] for f in found] for name in found[0] if name.endswith("rows/s")}
    for name, y in lines.items():
        axis.plot(x, y, "--" if "pond" in name else "-", marker="o", markersize=4, label=name)
    _shape(axis, x, list(lines), lines, "arrival")
    axis.set(yscale="log", xlabel="queries", ylabel="rows/s", title="Figure 9: data arrival rate")
    _powers(axis, x)


def _draw_composite(axis: Any, found: Found) -> None:
    for number, workload in enumerate(dict.fromkeys(f["workload"] for f in found)):
        mine = [f for f in found if f["workload"] == workload]
        for kind, style in (("separate", "--"), ("composite", "-")):
            x, times = [f["rows"] for f in mine], [f[f"{kind}, ms"] for f in mine]
            axis.plot(x, times, style, marker="o", markersize=4, color=f"C{number}", label=f"{workload} {kind}")
    axis.set(yscale="log", xlabel="rows of R and of S", ylabel="ms", title="Figure 11: probes of joins")
    _powers(axis, [f["rows"] for f in found])


DRAWING: dict[str, Callable[[Any, Found], None]] = {
    "equality": _responses("Figure 7(a): equality", "equality"),
    "interval": _responses("Figure 7(b): intervals", "interval"),
    "joins": _draw_joins,
    "table2": _draw_table2,
    "arrival": _draw_arrival,
    "composite": _draw_composite,
}
