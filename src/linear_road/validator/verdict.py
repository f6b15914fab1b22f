"""What a validation found, as figures, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from linear_road.wording import all_right, counted

NAMES: Final = {0: "toll", 1: "accident", 2: "balance", 3: "expenditure", 4: "travel time"}
LIMITS: Final = {0: 5, 1: 5, 2: 5, 3: 10, 4: 30}
"""Seconds from a tuple's Time within which its answer must be out."""


@dataclass(frozen=True)
class Example:
    """One bad row (or the lack of one), and what is bad about it."""

    kind: str
    """missing, unexpected, wrong, late or malformed."""
    row: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.row}\n    {self.why}"


@dataclass(frozen=True)
class TypeVerdict:
    """The answers of one type. Every expected one is right, wrong or missing; late is counted apart from that."""

    type: int
    expected: int
    right: int
    missing: int
    unexpected: int
    wrong: int
    late: int
    timed: int
    """Answers whose response was timed: those with Time at or after the start of timing."""
    max: float | None
    mean: float | None
    p99: float | None
    """Of the responses timed, in seconds; None if there are none."""
    examples: tuple[Example, ...]

    @property
    def name(self) -> str:
        return NAMES[self.type]

    @property
    def limit(self) -> int:
        return LIMITS[self.type]

    @property
    def correct(self) -> bool:
        return not (self.missing or self.unexpected or self.wrong)


@dataclass(frozen=True)
class Verdict:
    types: tuple[TypeVerdict, ...]
    malformed: int
    """Lines of the output that are rows of no type."""
    malformed_examples: tuple[Example, ...]
    reports: int
    """Position reports of the input."""
    notes: tuple[str, ...]
    late_ok: bool

    @property
    def correct(self) -> bool:
        """Every answer is there, once, and right."""
        return not self.malformed and all(answers.correct for answers in self.types)

    @property
    def late(self) -> int:
        return sum(answers.late for answers in self.types)

    @property
    def ok(self) -> bool:
        """Correct, and in time unless that was waived."""
        return self.correct and (self.late_ok or not self.late)

    @property
    def examples(self) -> tuple[Example, ...]:
        return (*(example for answers in self.types for example in answers.examples), *self.malformed_examples)

    def __str__(self) -> str:
        head = ("type", "expected", "right", "missing", "unexpected", "wrong", "late", "limit", "max", "mean", "p99")
        table = [head, *(_line(answers) for answers in self.types)]
        widths = [max(len(row[column]) for row in table) for column in range(len(head))]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            )
            for row in table
        ]
        lines += [str(example) for example in self.examples]
        if self.malformed:
            lines.append(f"{counted(self.malformed, 'line of the output is', 'lines of the output are')} malformed")
        lines += self.notes
        lines.append(self._sentence())
        return "\n".join(lines)

    def _sentence(self) -> str:
        expected = sum(answers.expected for answers in self.types)
        of = f" to an input of {counted(self.reports, 'report')}"
        if not self.correct:
            were = "was" if expected == 1 else "were"
            return f"Not valid: {counted(expected, 'answer')}{of} {were} expected, and not all are right."
        right = all_right(expected, of)
        if self.late:
            late = counted(self.late, "late answer")
            return f"{'Valid but for' if self.late_ok else 'Not valid:'} {late}; {right}."
        return f"Valid: {right}{' and in time' if any(answers.timed for answers in self.types) else ''}."

    def to_json(self) -> str:
        types = {answers.name: {**asdict(answers), "limit": answers.limit} for answers in self.types}
        whole = {
            "ok": self.ok, "correct": self.correct, "late": self.late, "late_ok": self.late_ok, "reports": self.reports,
            "malformed": self.malformed, "malformed_examples": [asdict(one) for one in self.malformed_examples],
            "notes": self.notes, "types": types,
        }  # fmt: skip
        return json.dumps(whole, indent=2)


def _line(answers: TypeVerdict) -> tuple[str, ...]:
    counts = (answers.expected, answers.right, answers.missing, answers.unexpected, answers.wrong, answers.late)
    times = (answers.max, answers.mean, answers.p99)
    return (
        f"{answers.type} {answers.name}",
        *(f"{count:,}" for count in counts),
        f"{answers.limit} s",
        *("-" if time is None else f"{time:.3f}" for time in times),
    )
