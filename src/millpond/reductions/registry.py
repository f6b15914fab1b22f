"""The kinds of reduction that SQL knows. To add one, write a `ReductionKind` in a module of its own and either name it here, call
`REDUCTIONS.register`, or offer it from a package under the entry point `millpond.reductions`."""

from __future__ import annotations

from millpond.extensions import Registry
from millpond.reductions.base import ReductionKind
from millpond.reductions.by_age import ByAge
from millpond.reductions.by_error import ByError
from millpond.reductions.by_load import ByLoad
from millpond.reductions.uniform import Uniform

REDUCTIONS: Registry[ReductionKind] = Registry(
    "reduction", "millpond.reductions", [Uniform(), ByAge(), ByLoad(), ByError()]
)
