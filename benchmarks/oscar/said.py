"""What the paper says in words of its measurements, and whether it is so here."""

from __future__ import annotations

import itertools

from benchmarks.harness import Report, rounded
from benchmarks.oscar.tables import LEVELS, Rows

Said = list[tuple[str, str, bool, str]]


def _tell(report: Report, said: Said) -> None:
    report.table(
        "The paper's statements",
        [{"statement": a, "here": b, "holds": "yes" if c else "no", "what is so here": d} for a, b, c, d in said],
    )


def of_reading(report: Report, written: Rows, asked: Rows) -> None:
    """Sections 6.2 and 6.3."""
    wrote = {row["design"]: row for row in written}
    ms = {(row["design"], row["left out, %"]): row["ms"] for row in asked}
    first = {(row["design"], row["left out, %"]): row["first, ms"] for row in asked}
    part = {(row["design"], row["left out, %"]): row["bytes of files, %"] for row in asked}
    eager = wrote["eager"]
    times = {name: row["times the strawman"] for name, row in wrote.items()}
    copied = (eager["MB"] + eager["MB of copies"]) / max(eager["MB"], 1e-9)
    strawman = [ms["strawman", level] for level in LEVELS]
    hybrid = [ms["hybrid", level] for level in LEVELS]
    steps = [ms["eager", level] for level in LEVELS]
    _tell(report, [
        ("the hybrid designs write at about the rate of the strawman", f"{times['hybrid']} times",
         abs(times["hybrid"] - 1) <= 0.15, "rows are dealt to files, nothing is written twice"),
        ("the lazy design is a little slower to write: its rows are longer", f"{times['lazy']} times",
         1.02 < times["lazy"] < 1.5, "no row says at which rate it was sampled: that follows from its number"),
        ("copies cost less than in proportion to their size", f"{times['eager']} times the time, {copied:.3g} times the bytes",
         times["eager"] < copied, "parsing, logging and sorting are done once"),
        ("the eager design is the slowest to write", ", ".join(f"{n} {t}" for n, t in times.items()),
         times["eager"] == max(times.values()), "it alone writes rows twice"),
        ("the strawman takes the same time at each level", f"{min(strawman):g} to {max(strawman):g} ms",
         max(strawman) <= 1.5 * min(strawman), "it reads all files, and computes the draw of each row where it leaves some out"),
        ("the first lazy read costs most of all, almost twice the strawman at 99 %",
         f"{first['lazy, first reads', 99]:g} ms, strawman {ms['strawman', 99]:g}",
         first["lazy, first reads", 99] > 1.5 * ms["strawman", 99], "a read marks no row: the fraction is remembered"),
        ("the second lazy read costs about as much as the strawman",
         f"{ms['lazy, first reads', 50]:g} ms, strawman {ms['strawman', 50]:g}",
         ms["lazy, first reads", 50] <= 1.3 * ms["strawman", 50], "until the copy is written it reads as the strawman does"),
        ("after vacuuming the lazy design reads less by the level", f"{part['lazy, later', 99]:g} % of bytes at 99 %",
         part["lazy, later", 99] <= 2, "a copy holds the rows that are left"),
        ("the eager design's time drops with the level", f"{steps[0]:g} to {steps[-1]:g} ms",
         steps[-1] < 0.5 * steps[0], "the nearest copy that is not too thin is read"),
        ("the eager design costs a little more than the vacuumed lazy one, as it reads in steps",
         f"{part['eager', 50]:g} % and {part['lazy, later', 50]:g} % of bytes at 50 %",
         part["eager", 50] > part["lazy, later", 50], "60 % are read where 50 % are asked for"),
        ("with long runs the hybrid design's time drops at each level", ", ".join(f"{t:g}" for t in hybrid) + " ms",
         all(b < a for a, b in itertools.pairwise(hybrid)), "files are left out, not blocks between others"),
        ("with short runs the hybrid design is no better than the strawman: the file system reads what lies between",
         f"{part['hybrid', 25]:g} % of bytes at 25 %", part["hybrid", 25] > 95,
         "a block is a file of its own, so there is nothing between blocks; a run has ten or eleven"),
    ])  # fmt: skip


def of_beside(report: Report, level: int, found: Rows) -> None:
    """Section 6.4, figures 13 to 16."""
    took = {(row["design"], row["queries beside"]): row["seconds to insert"] for row in found}
    rate = {(row["design"], row["queries beside"]): row["answered in 1,000 s"] for row in found}
    crowds = sorted({row["queries beside"] for row in found})
    most, some = crowds[-1], [c for c in crowds if c]
    slower = took["strawman", most] / took["strawman", 0]
    late = [took["strawman", c] for c in some[len(some) // 2 :]]
    rates = [rate["strawman", c] for c in some]
    best = {name: max(rate[name, c] for c in some) for name in {row["design"] for row in found}}
    alone = took["hybrid", 0] / took["strawman", 0]
    said: Said = [
        ("queries beside it slow insertion down", f"the strawman's takes {rounded(slower)} times as long beside {most}",
         slower > 1.2, "cores are shared rather than the disk: files are in memory"),
        ("beyond a few queries the time to insert stays as it is", ", ".join(f"{t:g}" for t in late) + " s",
         max(late) <= 1.3 * min(late), "insertion is one thread among those of the queries"),
        ("the number of answers grows from one query to two and then stays", ", ".join(f"{r:g}" for r in rates),
         max(rates) <= 3 * rates[0] and min(rates[-2:]) >= 0.6 * max(rates), "one query keeps both cores busy by itself"),
        ("the hybrid design inserts about as fast as the strawman", f"{rounded(alone)} times with no query beside it",
         alone <= 1.15, "as in figure 11"),
        ("the eager design takes longer to insert, but not by much",
         f"{rounded(took['eager', most] / took['strawman', most])} times beside {most}",
         1 <= took["eager", most] / took["strawman", most] <= 1.5, "its queries leave it more of the cores"),
        ("the eager design answers almost as many as the vacuumed lazy one", f"{best['eager']:g} and {best['lazy']:g}",
         0.6 <= best["eager"] / best["lazy"] <= 1.05, "it reads in steps"),
        (f"the vacuumed lazy design answers more than the strawman without {level} %",
         f"{best['lazy']:g} and {best['strawman']:g}",
         best["lazy"] > 1.1 * best["strawman"], "its copy is smaller"),
    ]  # fmt: skip
    if level == 25:
        said.append(("with long runs the hybrid design answers more than the strawman",
                     f"{best['hybrid']:g} and {best['strawman']:g}",
                     best["hybrid"] > 1.1 * best["strawman"], "a quarter of the files is left out"))  # fmt: skip
    _tell(report, said)


def of_levels(report: Report, rates: dict[tuple[str, int], float]) -> None:
    """Section 6.4, figures 17 and 18: answers in 1,000 s by design and level."""

    def gain(name: str, low: int, high: int) -> float:
        return rates[name, high] / max(rates[name, low], 1e-9)

    times = rates["hybrid", 99] / max(rates["strawman", 99], 1e-9)
    _tell(report, [
        ("from 25 to 75 % the strawman answers only slightly more", f"{gain('strawman', 25, 75):.3g} times",
         0.8 <= gain("strawman", 25, 75) <= 1.3, "all is read whatever the level"),
        ("the vacuumed lazy and the eager design answer far more at 75 % than at 25 %",
         f"{gain('lazy', 25, 75):.3g} and {gain('eager', 25, 75):.3g} times",
         min(gain("lazy", 25, 75), gain("eager", 25, 75)) > 1.5, "they read a third of it"),
        ("with long runs the hybrid design answers more at 75 % than at 25 %", f"{gain('hybrid', 25, 75):.3g} times",
         gain("hybrid", 25, 75) > 1.2, "a third of the files is read"),
        ("beyond its smallest copy the eager design answers no more", f"{gain('eager', 75, 99):.3g} times from 75 to 99 %",
         gain("eager", 75, 99) <= 1.5, "from the copy of a fifth rows are still left out one by one"),
        ("the lazy and the hybrid design answer more with each level",
         f"{gain('lazy', 75, 99):.3g} and {gain('hybrid', 75, 99):.3g} times from 75 to 99 %",
         min(gain("lazy", 75, 99), gain("hybrid", 75, 99)) > 1.5, "what is not read costs nothing; planning does"),
        ("the strawman does poorly under overload", f"the hybrid design answers {times:.3g} times as many at 99 %",
         rates["hybrid", 99] >= 5 * rates["strawman", 99], "sampling in the plan saves no reading"),
    ])  # fmt: skip
