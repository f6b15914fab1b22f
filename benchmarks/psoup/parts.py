"""A long benchmark can be run in parts: STANDING_PARTS=figure7,table2. Their results stand beside those of the whole."""

from __future__ import annotations

import os
from collections.abc import Sequence

from benchmarks.harness import Report


def chosen(report: Report, parts: Sequence[str]) -> list[str]:
    given = os.environ.get("STANDING_PARTS")
    if not given:
        return list(parts)
    names = given.split(",")
    unknown = sorted(set(names) - set(parts))
    if unknown:
        raise SystemExit(f"STANDING_PARTS: {', '.join(unknown)} is none of {', '.join(parts)}")
    report.name += "-" + "-".join(names)
    return names
