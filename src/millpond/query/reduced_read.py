"""A planned query carried out over a part of the rows: the rows that were read, or aggregates estimated from them.

Who asks decides how much is read: a function that says of each portion which fraction is wanted. How it is said in SQL, and what
is done until an error is small enough, is up to `statements.reduced`; continuous queries under load come from `from_history`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from millpond.catalog import Function, StreamingTable
from millpond.errors import UnsupportedSql
from millpond.estimators import Estimates
from millpond.query import reduced
from millpond.query.binding.uses import Bound
from millpond.query.plan import Plan, Tiers
from millpond.query.reduced_shape import Shape
from millpond.result import Reduction
from millpond.sql.translate import NotOnDuckDB, to_duckdb
from millpond.table.thinning import Amount, Step, Thinning

Fraction = Callable[[Amount], float]
Ask = Callable[[Plan, int], pa.Table]
"""Has a plan answered that reads so many rows."""
Compute = Callable[[str, dict[str, pa.Table], Mapping[str, Function]], pa.Table]
"""Has DuckDB answer a text over tables."""

_ALL_BYTES = "all files were read all the same: ALTER STREAMING TABLE ... SET REDUCE BY RANDOMIZE lets a part be read"


def thinnings(plan: Plan, names: Collection[str], *, exactly: bool) -> dict[str, Thinning]:
    """The readings of the uses of these names; `exactly`: rows are wanted, and no more of them than asked for."""
    found = {}
    for name in names:
        use, given = plan.bound.uses[name], plan.inputs[name]
        if isinstance(given, Tiers) and isinstance(use.table, StreamingTable):
            found[name] = Thinning(given.snapshot, given.selection, use.table.folder, exactly=exactly)
    return found


def with_steps(plan: Plan, steps: Mapping[str, Step]) -> Plan:
    """The plan, reading these steps of its inputs."""
    inputs = dict(plan.inputs)
    for name, step in steps.items():
        given = inputs[name]
        assert isinstance(given, Tiers)
        inputs[name] = replace(given, step=step)
    return replace(plan, inputs=inputs)


def told(found: list[Thinning], interval: float | None, notes: tuple[str, ...]) -> Reduction:
    """What was read, for the answer."""
    rows = [sum(t.rows[at] for t in found) for at in (0, 1)]
    size = [sum(t.bytes[at] for t in found) for at in (0, 1)]
    designs = dict.fromkeys(design for t in found for design in t.designs)
    fraction = rows[0] / rows[1] if rows[1] else 1.0
    if rows[0] < rows[1] and size[0] >= size[1]:
        notes = (*notes, _ALL_BYTES)
    exact = rows[0] == rows[1]
    return Reduction(fraction, rows[0], rows[1], size[0], size[1], ", ".join(designs), interval, notes, exact)


def some_rows(plan: Plan, fractions: Mapping[str, Fraction], ask: Ask) -> tuple[pa.Table, dict[str, Thinning]]:
    """The answer from a part of the rows of some uses, for queries without aggregates, and what was read of each."""
    found = thinnings(plan, fractions, exactly=True)
    steps = {name: thinning.read(fractions[name]) for name, thinning in found.items()}
    read = sum(thinning.rows[0] for thinning in found.values())
    return ask(with_steps(plan, steps), read), found


class Estimating:
    """Estimating the aggregates of one query. Used once; `read` can be called again, for more."""

    def __init__(
        self,
        plan: Plan,
        shape: Shape,
        confidence: float,
        *,
        engine: str,
        ask: Ask,
        compute: Compute,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """`plan` is that of the query; `engine` is which may be asked, or 'auto'."""
        self.shape = shape
        self._confidence = confidence
        self._ask = ask
        self._compute = compute
        self._bound = plan.bound
        self._sums = reduced.sums(shape)
        self._plan = self._for_sums(plan, engine, check)
        given = plan.inputs[shape.use.name]
        assert isinstance(given, Tiers)
        self.now = given.now
        selected = any(shape.tree.args.get(clause) for clause in ("where", "group"))
        limited = given.upto is not None or given.snapshot.since is not None or shape.use.window is not None
        self._found = reduced.Answer(shape, confidence, everything=not selected and not limited)
        (self.thinning,) = thinnings(plan, [shape.use.name], exactly=False).values()

    def _for_sums(self, plan: Plan, engine: str, check: Callable[[], None]) -> Plan:
        bound = reduced.inner(plan.bound, self.shape)
        text = None
        if engine != "spark":
            try:
                text = self._sums(to_duckdb(bound.tree, bound.functions, check))
            except NotOnDuckDB:
                if engine == "duckdb" or bound.functions:
                    raise
        return replace(plan, bound=bound, engine="duckdb" if text else "spark", text=text, around=self._sums)

    def read(self, fraction: Fraction) -> tuple[pa.Table, list[Estimates]]:
        """Read at least that part of each portion. The keys of all groups, and the estimates of each aggregate."""
        before = self.thinning.rows[0]
        step = self.thinning.read(fraction)
        plan = with_steps(self._plan, {self.shape.use.name: step})
        self._found.add(step, self._ask(plan, self.thinning.rows[0] - before))
        return self._found.estimates(self.thinning.strata)

    def answer(self, keys: pa.Table, estimates: list[Estimates]) -> tuple[pa.Table, Reduction]:
        """The answer with its bounds, made of what was estimated last, and what was read for it."""
        rows = reduced.shown(self._bound, self.shape, keys, estimates, self._from_estimates)
        notes = reduced.notes(self._bound, self.shape, estimates)
        whole = self.thinning.rows[0] == self.thinning.rows[1]
        return rows, told([self.thinning], self._confidence, () if whole else notes)

    def _from_estimates(self, tree: exp.Select, rows: pa.Table) -> pa.Table:
        bound: Bound = self._bound
        try:
            text = to_duckdb(tree, bound.functions)
        except NotOnDuckDB as refusal:
            raise UnsupportedSql(
                "this cannot be computed from estimates",
                detail=f"{refusal}.",
                hint="Select the aggregates alone, and compute with them afterwards.",
            ) from refusal
        return self._compute(text, {self.shape.use.name: rows}, bound.functions)
