"""SELECT over tables that are read reduced: the rows of a part of them, or aggregates estimated from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from millpond.catalog import StreamingTable
from millpond.errors import UnsupportedSql
from millpond.estimators import Estimates, needed
from millpond.query import reduced_read
from millpond.query.binding.uses import Bound, Use
from millpond.query.plan import Plan, Tiers, make_plan
from millpond.query.reduced_read import Estimating
from millpond.query.reduced_shape import Shape, read_shape
from millpond.reductions.base import Portion, ReductionError
from millpond.reductions.registry import REDUCTIONS
from millpond.result import Result
from millpond.sql.reduce import CONFIDENCE
from millpond.sql.statements import Within
from millpond.system.registry import SystemShelf
from millpond.table.thinning import Amount, Thinning

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace

Ask = Callable[[Plan], pa.Table]

_PILOT = (4_096, 65_536)  # rows that are read first to see how much an error takes: a fiftieth of all, between these
_MOST_STEPS = 6
_MARGIN = 1.15  # more than what an error seems to take, because it is an estimate too
_ENOUGH = 0.6  # beyond this part of the rows all of them are read


def is_reduced(bound: Bound, within: Within | None) -> bool:
    return within is not None or any(use.reduce is not None for use in bound.uses.values())


def answer(
    workspace: Workspace, bound: Bound, within: Within | None, as_of: int | str | None, sql: str, ask: Ask,
    check: Callable[[], None],
) -> Result:  # fmt: skip
    """The answer to a query for which `is_reduced` holds; `ask` has a plan answered."""
    if bound.unsure is not None:
        raise bound.unsure
    wanted = _wanted(bound, within, sql)
    shape = read_shape(bound, sql, within=wanted is not None)
    config = workspace.config
    engine = "auto" if config.engine == "auto" else config.engine
    plan = make_plan(bound, SystemShelf(workspace), engine=engine, large_rows=1 << 62, as_of=as_of, check=check)
    if shape is None:
        return _rows(workspace, plan, ask)
    return _Estimate(workspace, plan, shape, wanted, ask, check).answer()


def explain_lines(workspace: Workspace, plan: Plan, within: Within | None, sql: str) -> list[str]:
    """What a query for which `is_reduced` holds reads of what its plan names."""
    wanted = _wanted(plan.bound, within, sql)
    shape = read_shape(plan.bound, sql, within=wanted is not None)
    if wanted is not None:
        sure = f"in {100 * wanted.confidence:g} of 100 answers"
        return [f"reduced: as much is read as an error of {100 * wanted.error:g} % ({sure}) takes"]
    reduced = [n for n, u in plan.bound.uses.items() if u.reduce is not None or shape is not None]
    thinnings = reduced_read.thinnings(plan, reduced, exactly=shape is None)
    for name, thinning in thinnings.items():
        given = plan.inputs[name]
        assert isinstance(given, Tiers)
        thinning.read(_fraction(workspace, plan.bound.uses[name], given.now))
    return [f"reduced: {reduced_read.told(list(thinnings.values()), None, ())}"]


def _wanted(bound: Bound, within: Within | None, sql: str) -> Within | None:
    """The error that is wanted, by WITHIN or by a reduction."""
    found = []
    for use in bound.uses.values():
        if use.reduce is not None:
            kind = REDUCTIONS.find(use.reduce.name)
            error = kind.wanted_error(use.reduce.arguments or ())
            if error is not None:
                found.append(Within(*error))
    if within is not None and any(use.reduce is not None for use in bound.uses.values()):
        raise UnsupportedSql(
            "a query has REDUCE or WITHIN, not both",
            detail="REDUCE says how much is read, WITHIN how exact the answer is.",
            sql=sql,
        )
    return within if within is not None else found[0] if found else None


def _fraction(workspace: Workspace, use: Use, now: int | None) -> Callable[[Amount], float]:
    """Which part of each portion a use reads."""
    if use.reduce is None:
        return lambda _amount: 1.0
    kind = REDUCTIONS.find(use.reduce.name)
    ask = kind.open(use.reduce.arguments or ())
    assert isinstance(use.table, StreamingTable)
    unit = use.table.unit

    def fraction(amount: Amount) -> float:
        age = unit.length(max(0, (now if now is not None else amount.greatest) - amount.greatest))
        found = ask(Portion(age, amount.rows, amount.bytes, workspace.load, amount.rows_read))
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 1:
            raise ReductionError(
                f'reduction "{kind.name}" answered {found!r}',
                detail="A fraction of the rows is more than 0 and at most 1.",
            )
        return float(found)

    return fraction


def _engine(workspace: Workspace, plan: Plan, rows: int) -> Plan:
    """The plan on Spark, if there is more to read than DuckDB is given."""
    if (
        workspace.config.engine == "auto"
        and plan.text
        and rows > workspace.config.large_rows
        and not plan.bound.functions
    ):
        return replace(plan, engine="spark", text=None, reason="more rows to read than large_rows")
    return plan


def _asking(workspace: Workspace, ask: Ask) -> reduced_read.Ask:
    return lambda plan, rows: ask(_engine(workspace, plan, rows))


def _rows(workspace: Workspace, plan: Plan, ask: Ask) -> Result:
    fractions = {}
    for name, use in plan.bound.uses.items():
        given = plan.inputs[name]
        if use.reduce is not None and isinstance(given, Tiers):
            fractions[name] = _fraction(workspace, use, given.now)
    rows, thinnings = reduced_read.some_rows(plan, fractions, _asking(workspace, ask))
    for name, thinning in thinnings.items():
        _note(workspace, plan.bound.uses[name], thinning)
    return Result(rows, reduction=reduced_read.told(list(thinnings.values()), None, ()))


def _note(workspace: Workspace, use: Use, thinning: Thinning) -> None:
    """Let a table that is reduced lazily know what was asked of it."""
    if thinning.asked < 1:
        workspace.read_reduced(use.table.name, thinning.asked)


class _Estimate:
    """The answer to one query with aggregates. Used once."""

    def __init__(
        self, workspace: Workspace, plan: Plan, shape: Shape, wanted: Within | None, ask: Ask, check: Callable[[], None]
    ) -> None:
        self._workspace = workspace
        self._use = shape.use
        self._wanted = wanted
        confidence = wanted.confidence if wanted is not None else CONFIDENCE
        self._estimating = Estimating(
            plan, shape, confidence, engine=workspace.config.engine, ask=_asking(workspace, ask),
            compute=workspace.local.run_over, check=check,
        )  # fmt: skip

    def answer(self) -> Result:
        if self._wanted is None:
            found = self._read(_fraction(self._workspace, self._use, self._estimating.now))
        else:
            found = self._until(self._wanted.error)
        rows, told = self._estimating.answer(*found)
        return Result(rows, reduction=told)

    def _read(self, fraction: Callable[[Amount], float]) -> tuple[pa.Table, list[Estimates]]:
        found = self._estimating.read(fraction)
        _note(self._workspace, self._use, self._estimating.thinning)
        return found

    def _until(self, error: float) -> tuple[pa.Table, list[Estimates]]:
        """Read more until the error is that which is wanted."""
        thinning = self._estimating.thinning
        everything = thinning.rows[1]
        assert isinstance(self._use.table, StreamingTable)
        if not thinning.saves and self._use.table.reduce_by != "lazy":
            everything = 0  # each step would read all files: then once is enough
        least, most = _PILOT
        fraction = min(1.0, max(least, min(most, everything / 50)) / max(1, everything))
        for _ in range(_MOST_STEPS):
            wanted = fraction if fraction < _ENOUGH else 1.0
            keys, estimates = self._read(lambda _amount, wanted=wanted: wanted)  # type: ignore[misc]
            read, all_rows = thinning.rows
            if read >= all_rows or all(float(e.error.max(initial=0.0)) <= error for e in estimates):
                return keys, estimates
            share = read / all_rows
            more = max(needed(e, share, error) for e in estimates)
            fraction = max(_MARGIN * more, 1.5 * share)
        return self._read(lambda _amount: 1.0)
