"""Numbers in sentences. (millpond words its own counts the same way, but an application has only its public names.)"""

from __future__ import annotations


def counted(count: float, noun: str, plural: str | None = None) -> str:
    """A number and what it counts.

    >>> counted(1, "report"), counted(1200, "report"), counted(0, "day"), counted(0.5, "expressway")
    ('1 report', '1,200 reports', '0 days', '0.5 expressways')
    """
    number = f"{int(count):,}" if float(count).is_integer() else f"{count:g}"
    return f"{number} {noun if count == 1 else plural or noun + 's'}"


def all_right(count: int, what: str = "") -> str:
    """That every answer is right. `what` says more about the answers.

    >>> all_right(1), all_right(12, " to an input of 3 reports")
    ('the 1 answer is right', 'all 12 answers to an input of 3 reports are right')
    """
    the, are = ("the", "is") if count == 1 else ("all", "are")
    return f"{the} {counted(count, 'answer')}{what} {are} right"
