"""What a run costs, once a second: CPU and memory of this process and all below it, and how far it is."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import millpond
from linear_road.driver import Handed

COLUMNS: Final = ("wall", "handed", "answered", "tuples", "written", "tick", "cpu", "rss_mb", "free_mb")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Meters:
    """A row a second in a CSV file with a header; `last` is the newest."""

    def __init__(self, path: Path) -> None:
        new = not path.exists()
        self._file = path.open("a", encoding="ascii")
        if new:
            self._file.write(",".join(COLUMNS) + "\n")
        self._at = 0.0
        self._cpu = 0.0
        self._written = 0
        self._costs: list[tuple[float, float, float]] = []  # wall, cores, megabytes
        self.last: dict[str, float] = {}

    def sample(self, db: millpond.Pond, handed: Sequence[Handed], answered: int, written: int) -> None:
        """Take a sample, if a second has passed since the last one."""
        self._written += written
        now = time.time()
        if now - self._at < 1:
            return
        cpu, memory = usage(os.getpid())
        ticks = db.durations()
        busy = (cpu - self._cpu) / (now - self._at) if self._at else 0.0
        self._at, self._cpu = now, cpu
        values = (
            now, handed[-1].last if handed else 0, answered, sum(h.tuples for h in handed), self._written,
            ticks[-1] if ticks else 0.0, busy, memory / 1e6, free_memory() / 1e6,
        )  # fmt: skip
        self._written = 0
        self._costs.append((now, busy, memory / 1e6))
        self.last = dict(zip(COLUMNS, values, strict=True))
        self._file.write(",".join(f"{v:.3f}" for v in values) + "\n")
        self._file.flush()

    def since(self, moment: float) -> dict[str, float]:
        """Cores that were used and memory that was held from a moment on, in the mean."""
        costs = [cost for cost in self._costs if cost[0] >= moment] or [(0.0, 0.0, 0.0)]
        return {"cores": sum(c[1] for c in costs) / len(costs), "memory_mb": sum(c[2] for c in costs) / len(costs)}

    def close(self) -> None:
        self._file.close()


def usage(root: int) -> tuple[float, int]:
    """CPU seconds and resident bytes of a process and those it started, as Linux tells; zeros elsewhere."""
    parents: dict[int, int] = {}
    spent: dict[int, tuple[float, int]] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    fields = _fields(int(name))
                    parents[int(name)] = int(fields[1])
                    cpu = sum(map(int, fields[11:15])) / _TICKS
                    spent[int(name)] = (cpu, int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    known = [spent[pid] for pid in found if pid in spent]
    return sum(c for c, _ in known), sum(m for _, m in known)


def _fields(pid: int) -> list[str]:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def free_memory() -> int:
    values: dict[str, Any] = {}
    with contextlib.suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            values[name] = int(rest.split()[0]) * 1024
    return int(values.get("MemAvailable", 0))
