"""A naive pond you can check by eye: one list of rows, searched from end to end for every question.

It knows nothing of tiers, files, shards, batches or engines. Times are integers (seconds, or microseconds for TIMESTAMP);
a value may be None. What it does in twenty lines the product must do however its rows are cut, moved and read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
# A condition: ("=", column, value) and the other comparisons, ("in", column, values), ("null", column),
# ("and", a, b), ("or", a, b), ("not", a).
Condition = tuple[Any, ...]


@dataclass
class OracleTable:
    lateness: int = 0
    keep_late: bool = False
    history: int | None = None
    rows: list[Row] = field(default_factory=list)  # in order of arrival
    late: list[Row] = field(default_factory=list)
    malformed: list[Row] = field(default_factory=list)
    highest: int | None = None
    heartbeat: int | None = None

    # -- rows in ----------------------------------------------------------------------------------------------------

    def offer(self, row: Row) -> None:
        """Judge one row, by what came before it and nothing else."""
        time = row["t"]
        if time is None:
            self.malformed.append(row)
            return
        earliest = None if self.keep_late else self.now
        if self.now is not None and self.history is not None:
            oldest = self.now - self.history
            earliest = oldest if earliest is None else max(earliest, oldest)
        if earliest is not None and time < earliest:
            self.late.append(row)
            return
        self.rows.append(row)
        self.highest = time if self.highest is None else max(self.highest, time)

    def advance(self, time: int) -> None:
        self.heartbeat = time if self.heartbeat is None else max(self.heartbeat, time)

    @property
    def now(self) -> int | None:
        """Nothing earlier is still to come."""
        known = [] if self.heartbeat is None else [self.heartbeat]
        known += [] if self.highest is None else [self.highest - self.lateness]
        return max(known, default=None)

    # -- windows, each in decreasing (time, arrival) ----------------------------------------------------------------

    def newest_first(self) -> list[Row]:
        return [row for _, row in sorted(enumerate(self.rows), key=lambda p: (p[1]["t"], p[0]), reverse=True)]

    def interval(self, length: int) -> list[Row]:
        now = self.now
        return [] if now is None else [row for row in self.newest_first() if row["t"] >= now - length]

    def landmark(self, length: int) -> list[Row]:
        now = self.now
        return [] if now is None else [row for row in self.newest_first() if row["t"] // length >= now // length]

    def newest(self, count: int) -> list[Row]:
        return self.newest_first()[:count]

    def newest_of_each(self, columns: tuple[str, ...], count: int, within: int | None = None) -> list[Row]:
        seen: dict[tuple[Any, ...], int] = {}
        chosen = []
        for row in self.newest_first() if within is None else self.interval(within):
            key = tuple(row[c] for c in columns)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= count:
                chosen.append(row)
        return chosen

    def since(self, time: int) -> list[Row]:
        return [row for row in self.newest_first() if row["t"] >= time]

    def at_now(self) -> list[Row]:
        return [row for row in self.newest_first() if row["t"] == self.now]

    # -- selections -------------------------------------------------------------------------------------------------

    def during(self, start: int, end: int) -> list[Row]:
        """VALID OVERLAPS PERIOD(start, end)."""
        return [row for row in self.rows if start <= row["t"] < end]

    def where(self, condition: Condition) -> list[Row]:
        return [row for row in self.rows if holds(condition, row) is True]

    def delete(self, condition: Condition) -> int:
        before = len(self.rows)
        self.rows = [row for row in self.rows if holds(condition, row) is not True]
        return before - len(self.rows)

    def update(self, condition: Condition, column: str, value: Any) -> int:
        hit = self.where(condition)
        for row in hit:
            row[column] = value
        return len(hit)


def holds(condition: Condition, row: Row) -> bool | None:
    """SQL's three-valued truth: None is unknown."""
    kind = condition[0]
    if kind == "not":
        inner = holds(condition[1], row)
        return None if inner is None else not inner
    if kind in ("and", "or"):
        both = [holds(part, row) for part in condition[1:]]
        decisive = kind == "or"
        return decisive if decisive in both else None if None in both else not decisive
    value = row[condition[1]]
    if kind == "null":
        return value is None
    if value is None:
        return None
    if kind == "in":
        return value in condition[2]
    other = condition[2]
    return bool({"=": value == other, "<>": value != other, "<": value < other, "<=": value <= other,
                 ">": value > other, ">=": value >= other}[kind])  # fmt: skip


def grouped(rows: list[Row], key: str, value: str) -> list[tuple[Any, ...]]:
    """(key, count(*), count(value), sum(value), min(t), max(t)) for each key."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    answer = []
    for name, members in groups.items():
        known = [r[value] for r in members if r[value] is not None]
        times = [r["t"] for r in members]
        answer.append((name, len(members), len(known), sum(known) if known else None, min(times), max(times)))
    return answer
