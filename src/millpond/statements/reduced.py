"""SELECT over tables that are read reduced: the rows of a part of them, or aggregates estimated from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from millpond.catalog import StreamingTable
from millpond.errors import UnsupportedSql
from millpond.estimators import Estimates, needed
from millpond.query import reduced
from millpond.query.binding.uses import Bound, Use
from millpond.query.plan import Plan, Tiers, make_plan
from millpond.query.reduced_shape import Shape, read_shape
from millpond.reductions.base import Portion, ReductionError
from millpond.reductions.registry import REDUCTIONS
from millpond.result import Reduction, Result
from millpond.sql.reduce import CONFIDENCE
from millpond.sql.statements import Within
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.system.registry import SystemShelf
from millpond.table.thinning import Amount, Step, Thinning

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace

Ask = Callable[[Plan], pa.Table]

_PILOT = (4_096, 65_536)  # rows that are read first to see how much an error takes: a fiftieth of all, between these
_MOST_STEPS = 6
_ALL_BYTES = "all files were read all the same: ALTER STREAMING TABLE ... SET REDUCE BY RANDOMIZE lets a part be read"
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
    return _Estimating(workspace, plan, shape, wanted, ask, check).answer()


def explain_lines(workspace: Workspace, plan: Plan, within: Within | None, sql: str) -> list[str]:
    """What a query for which `is_reduced` holds reads of what its plan names."""
    wanted = _wanted(plan.bound, within, sql)
    shape = read_shape(plan.bound, sql, within=wanted is not None)
    if wanted is not None:
        sure = f"in {100 * wanted.confidence:g} of 100 answers"
        return [f"reduced: as much is read as an error of {100 * wanted.error:g} % ({sure}) takes"]
    thinnings = _thinnings(plan, exactly=shape is None)
    for name, thinning in thinnings.items():
        given = plan.inputs[name]
        assert isinstance(given, Tiers)
        thinning.read(_fraction(workspace, plan.bound.uses[name], given.now))
    return [f"reduced: {_told(list(thinnings.values()), None, ())}"]


def _wanted(bound: Bound, within: Within | None, sql: str) -> Within | None:
    """The error that is wanted, by WITHIN or by a reduction."""
    found = []
    for use in bound.uses.values():
        if use.reduce is not None:
            kind = REDUCTIONS.find(use.reduce.name)
            error = kind.wanted_error(use.reduce.arguments)
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
    ask = kind.open(use.reduce.arguments)
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


def _thinnings(plan: Plan, *, exactly: bool) -> dict[str, Thinning]:
    found = {}
    for name, use in plan.bound.uses.items():
        given = plan.inputs[name]
        if (
            isinstance(given, Tiers)
            and (use.reduce is not None or not exactly)
            and isinstance(use.table, StreamingTable)
        ):
            found[name] = Thinning(given.snapshot, given.selection, use.table.folder, exactly=exactly)
    return found


def _with_steps(plan: Plan, steps: dict[str, Step]) -> Plan:
    inputs = dict(plan.inputs)
    for name, step in steps.items():
        given = inputs[name]
        assert isinstance(given, Tiers)
        inputs[name] = replace(given, step=step)
    return replace(plan, inputs=inputs)


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


def _rows(workspace: Workspace, plan: Plan, ask: Ask) -> Result:
    thinnings = _thinnings(plan, exactly=True)
    steps = {}
    for name, thinning in thinnings.items():
        given = plan.inputs[name]
        assert isinstance(given, Tiers)
        steps[name] = thinning.read(_fraction(workspace, plan.bound.uses[name], given.now))
    read = sum(thinning.rows[0] for thinning in thinnings.values())
    rows = ask(_engine(workspace, _with_steps(plan, steps), read))
    _note(workspace, plan, thinnings)
    return Result(rows, reduction=_told(list(thinnings.values()), None, ()))


def _note(workspace: Workspace, plan: Plan, thinnings: dict[str, Thinning]) -> None:
    """Let tables that are reduced lazily know what was asked of them."""
    for name, thinning in thinnings.items():
        if thinning.asked < 1:
            workspace.stream(plan.bound.uses[name].table.name).read_reduced(thinning.asked)


def _told(thinnings: list[Thinning], interval: float | None, notes: tuple[str, ...]) -> Reduction:
    rows = [sum(t.rows[at] for t in thinnings) for at in (0, 1)]
    size = [sum(t.bytes[at] for t in thinnings) for at in (0, 1)]
    designs = dict.fromkeys(design for t in thinnings for design in t.designs)
    fraction = rows[0] / rows[1] if rows[1] else 1.0
    if rows[0] < rows[1] and size[0] >= size[1]:
        notes = (*notes, _ALL_BYTES)
    return Reduction(fraction, rows[0], rows[1], size[0], size[1], ", ".join(designs), interval, notes)


class _Estimating:
    """Estimating the aggregates of one query. Used once."""

    def __init__(
        self, workspace: Workspace, plan: Plan, shape: Shape, wanted: Within | None, ask: Ask, check: Callable[[], None]
    ) -> None:
        self._workspace = workspace
        self._shape = shape
        self._wanted = wanted
        self._ask = ask
        self._bound = plan.bound
        self._confidence = wanted.confidence if wanted is not None else CONFIDENCE
        self._sums = reduced.sums(shape)
        self._plan = self._for_sums(plan, check)
        given = plan.inputs[shape.use.name]
        assert isinstance(given, Tiers)
        self._now = given.now
        selected = any(shape.tree.args.get(clause) for clause in ("where", "group"))
        limited = given.upto is not None or given.snapshot.since is not None or shape.use.window is not None
        self._everything = not selected and not limited
        (self._thinning,) = _thinnings(plan, exactly=False).values()

    def _for_sums(self, plan: Plan, check: Callable[[], None]) -> Plan:
        bound = reduced.inner(plan.bound, self._shape)
        text = None
        if self._workspace.config.engine != "spark":
            try:
                text = self._sums(to_duckdb(bound.tree, bound.functions, check))
            except NotOnDuckDB:
                if self._workspace.config.engine == "duckdb" or bound.functions:
                    raise
        engine = "duckdb" if text else "spark"
        return replace(plan, bound=bound, engine=engine, text=text, around=self._sums)

    def answer(self) -> Result:
        found = reduced.Answer(self._shape, self._confidence, everything=self._everything)
        if self._wanted is None:
            self._read(found, _fraction(self._workspace, self._shape.use, self._now))
            keys, estimates = found.estimates(self._thinning.strata)
        else:
            keys, estimates = self._until(found, self._wanted.error)
        rows = reduced.shown(self._bound, self._shape, keys, estimates, self._compute)
        notes = reduced.notes(self._bound, self._shape, estimates)
        whole = self._thinning.rows[0] == self._thinning.rows[1]
        told = _told([self._thinning], self._confidence, () if whole else notes)
        return Result(rows, reduction=told)

    def _read(self, found: reduced.Answer, fraction: Callable[[Amount], float]) -> None:
        before = self._thinning.rows[0]
        step = self._thinning.read(fraction)
        plan = _with_steps(self._plan, {self._shape.use.name: step})
        plan = _engine(self._workspace, plan, self._thinning.rows[0] - before)
        found.add(step, self._ask(plan))
        _note(self._workspace, plan, {self._shape.use.name: self._thinning})

    def _until(self, found: reduced.Answer, error: float) -> tuple[pa.Table, list[Estimates]]:
        """Read more until the error is that which is wanted."""
        everything = self._thinning.rows[1]
        assert isinstance(self._shape.use.table, StreamingTable)
        if not self._thinning.saves and self._shape.use.table.reduce_by != "lazy":
            everything = 0  # each step would read all files: then once is enough
        least, most = _PILOT
        fraction = min(1.0, max(least, min(most, everything / 50)) / max(1, everything))
        for _ in range(_MOST_STEPS):
            wanted = fraction if fraction < _ENOUGH else 1.0
            self._read(found, lambda _amount, wanted=wanted: wanted)  # type: ignore[misc]
            keys, estimates = found.estimates(self._thinning.strata)
            read, all_rows = self._thinning.rows
            if read >= all_rows or all(float(e.error.max(initial=0.0)) <= error for e in estimates):
                return keys, estimates
            share = read / all_rows
            more = max(needed(e, share, error) for e in estimates)
            fraction = max(_MARGIN * more, 1.5 * share)
        self._read(found, lambda _amount: 1.0)
        return found.estimates(self._thinning.strata)

    def _compute(self, tree: exp.Select, rows: pa.Table) -> pa.Table:
        try:
            text = to_duckdb(tree, self._bound.functions)
        except NotOnDuckDB as refusal:
            raise UnsupportedSql(
                "this cannot be computed from estimates",
                detail=f"{refusal}.",
                hint="Select the aggregates alone, and compute with them afterwards.",
            ) from refusal
        return self._workspace.local.run_over(text, {self._shape.use.name: rows}, self._bound.functions)
