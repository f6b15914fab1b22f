"""A long benchmark can be run in parts: STANDING_PARTS=figure7,table2. Their results stand beside those of the whole."""

from __future__ import annotations

import os
from collections.abc import Sequence

from benchmarks.harness import Report


def chosen(report: Report, parts: Sequence[str], variable: str = "STANDING_PARTS") -> list[str]:
    given = os.environ.get(variable)
    if not given:
        return list(parts)
    names = given.split(",")
    unknown = sorted(set(names) - set(parts))
    if unknown:
        raise SystemExit(f"{variable}: {', '.join(unknown)} is none of {', '.join(parts)}")
    report.name += "-" + "-".join(names)
    return names
