"""Aggregates of a table from a part of its rows: which sums an engine is asked for, and the answer made of them.

The engine sums up what was read: for each file and group the number of rows and, for each value, the sums of its powers. From
these `estimators` makes values and bounds. What the query computes with its aggregates afterwards (HAVING, ORDER BY, LIMIT, and
expressions of several aggregates) DuckDB does over the estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millpond import estimators
from millpond.arrow import schema_of
from millpond.estimators import Cells, Estimates, Strata
from millpond.query.binding.uses import Bound
from millpond.query.reduced_shape import Aggregate, Shape
from millpond.query.relation import FILE, piece_groups
from millpond.table.thinning import TAIL, Step

Ints = npt.NDArray[np.int64]


def inner(bound: Bound, shape: Shape) -> Bound:
    """The query of the rows: keys, values and conditions of those that match, and their files."""
    tree = shape.tree.copy()
    for clause in ("group", "having", "order", "limit", "offset"):
        tree.set(clause, None)
    file = exp.column(exp.to_identifier(FILE, quoted=True), table=exp.to_identifier(shape.use.alias, quoted=True))
    file.type = exp.DataType.build("bigint")
    items = [_named(file, "file")]
    items += [_named(key.copy(), f"k{number}") for number, key in enumerate(shape.keys)]
    for number, aggregate in enumerate(shape.aggregates):
        if aggregate.value is not None:
            items.append(_named(aggregate.value.copy(), f"v{number}"))
        if aggregate.condition is not None:
            items.append(_named(aggregate.condition.copy(), f"c{number}"))
    tree.set("expressions", items)
    # Without names, so that nobody gives them to the sums.
    return replace(bound, tree=tree, names=(), text=None, written=None, any_order=True)


def _named(node: exp.Expr, name: str) -> exp.Alias:
    found = exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))
    found.type = node.type
    return found


def sums(shape: Shape) -> Callable[[str], str]:
    """Makes of the inner query's text one that sums up its rows; both engines understand it."""
    if any(a.kind == "quantile" for a in shape.aggregates):
        return lambda text: text
    items = ["file", *(f"k{n}" for n in range(len(shape.keys))), "CAST(COUNT(*) AS BIGINT) AS n"]
    for number, aggregate in enumerate(shape.aggregates):
        value = f"v{number}" if aggregate.value is not None else "1"
        if aggregate.condition is not None:
            value = f"CASE WHEN c{number} THEN {value} END"
        items.append(f"CAST(COUNT({value}) AS BIGINT) AS n{number}")
        if aggregate.kind != "count":
            d = f"CAST({value} AS DOUBLE)"
            items += [f"SUM({d}) AS a{number}", f"SUM({d} * {d}) AS b{number}", f"SUM({d} * {d} * {d}) AS d{number}"]
    keys = ", ".join(items[: 1 + len(shape.keys)])
    return lambda text: f"SELECT {', '.join(items)} FROM ({text}) AS s GROUP BY {keys}"


class Answer:
    """The answer as it grows with each step that is read."""

    def __init__(self, shape: Shape, confidence: float, *, everything: bool) -> None:
        """`everything`: each row of the table is one of the query's."""
        self._shape = shape
        self._everything = everything
        self._confidence = confidence
        self._parts: list[tuple[Ints, pa.Table]] = []  # strata and sums

    def add(self, step: Step, rows: pa.Table) -> None:
        """What an engine answered about a step."""
        self._parts = [_without(s, t, step.replaced) for s, t in self._parts]
        self._parts.append((_strata_of(step, rows["file"]), rows.drop_columns(["file"])))

    def estimates(self, parts: Sequence[tuple[int, int | None, float]]) -> tuple[pa.Table, list[Estimates]]:
        """The keys of all groups, one row each, and for each aggregate its estimates."""
        strata = Strata.of(parts)
        stratum = np.concatenate([s for s, _ in self._parts])
        table = pa.concat_tables([t for _, t in self._parts], promote_options="permissive").combine_chunks()
        keys = [f"k{n}" for n in range(len(self._shape.keys))]
        group, first, groups = _groups([table[key] for key in keys], len(stratum))
        found = [self._estimate(number, a, strata, stratum, group, groups, table)
                 for number, a in enumerate(self._shape.aggregates)]  # fmt: skip
        return table.select(keys).take(pa.array(first)), found

    def _estimate(
        self,
        number: int,
        aggregate: Aggregate,
        strata: Strata,
        stratum: Ints,
        group: Ints,
        groups: int,
        table: pa.Table,
    ) -> Estimates:
        if aggregate.kind == "quantile":
            return self._quantile(number, aggregate, strata, stratum, group, groups, table)
        if "n" not in table.schema.names:  # single rows, because another aggregate is a quantile
            table = _summed(table, number, aggregate)
        count = _floats(table[f"n{number}"])
        if aggregate.kind == "count":
            cells = Cells.counting(stratum, group, count)
            alone = aggregate.value is None and aggregate.condition is None
            return estimators.count(strata, cells, groups, self._confidence, all_match=alone and self._everything)
        powers = [_floats(table[f"{letter}{number}"]) for letter in "abd"]
        cells = Cells(stratum, group, count, *powers)
        if aggregate.kind == "avg":
            return estimators.average(strata, cells, groups, self._confidence)
        found = estimators.total(strata, cells, groups, self._confidence)
        empty = np.bincount(group, weights=count, minlength=groups) == 0  # the sum of no values is NULL
        value, low, high = (np.where(empty, np.nan, of) for of in (found.value, found.low, found.high))
        return replace(found, value=value, low=low, high=high)

    def _quantile(
        self,
        number: int,
        aggregate: Aggregate,
        strata: Strata,
        stratum: Ints,
        group: Ints,
        groups: int,
        table: pa.Table,
    ) -> Estimates:
        kept = _kept(table, number, aggregate)
        values = _floats(table[f"v{number}"].filter(pa.array(kept)))
        stratum, group = stratum[kept], group[kept]
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(strata.read > 0, strata.rows / strata.read, 1 / strata.share)[stratum]
        sampled = ~strata.whole[stratum]
        exact = bool(strata.whole.all())
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(groups + 1))
        found = []
        for number_of_group in range(groups):
            rows = order[ends[number_of_group] : ends[number_of_group + 1]]
            if len(rows):
                at = aggregate.at, self._confidence, exact
                found.append(estimators.quantile(values[rows], weight[rows], sampled[rows], *at))
            else:
                found.append((np.nan, np.nan, np.nan, "" if exact else estimators.TOO_FEW))
        value, low, high, reason = zip(*found, strict=True) if found else ((), (), (), ())
        return Estimates(np.array(value), np.array(low), np.array(high), np.array(reason, dtype=object))


def _without(stratum: Ints, table: pa.Table, replaced: frozenset[int]) -> tuple[Ints, pa.Table]:
    if not replaced:
        return stratum, table
    kept = ~np.isin(stratum, list(replaced))
    return stratum[kept], table.filter(pa.array(kept))


def _strata_of(step: Step, files: pa.ChunkedArray) -> Ints:
    """The strata of files as an engine names them."""
    pieces = [piece for group in piece_groups(step).values() for piece in group]
    if not pa.types.is_string(files.type):
        strata = np.array([*(piece.stratum for piece in pieces), TAIL], dtype=np.int64)  # -1, the tail, is the last
        found: Ints = strata[np.asarray(files.to_numpy(), dtype=np.int64)]
        return found
    by_path = {"/".join(piece.path.split("/")[-2:]): piece.stratum for piece in pieces}
    names = ["/".join(path.split("/")[-2:]) for path in files.to_pylist()]
    return np.array([by_path[name] if name else TAIL for name in names], dtype=np.int64)


def _groups(keys: list[pa.ChunkedArray], rows: int) -> tuple[Ints, Ints, int]:
    """For each row the number of its group, for each group its first row, and how many groups there are."""
    code = np.zeros(rows, dtype=np.int64)
    if not keys:
        return code, np.zeros(min(rows, 1), dtype=np.int64), 1
    for key in keys:
        encoded = pc.dictionary_encode(key.combine_chunks(), null_encoding="encode")
        indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, code = np.unique(code * (len(encoded.dictionary) + 1) + indices, return_inverse=True)
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    return group, first, len(first)


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    filled = pc.fill_null(column.cast(pa.float64()), 0.0)
    found: npt.NDArray[np.float64] = np.asarray(filled.to_numpy(), dtype=np.float64)
    return found


def _kept(table: pa.Table, number: int, aggregate: Aggregate) -> npt.NDArray[np.bool_]:
    """Which rows an aggregate takes: those of its FILTER that have a value."""
    kept = np.ones(table.num_rows, dtype=np.bool_)
    if aggregate.condition is not None:
        kept &= np.asarray(pc.fill_null(table[f"c{number}"], False).to_numpy(), dtype=np.bool_)
    if aggregate.value is not None:
        kept &= np.asarray(pc.is_valid(table[f"v{number}"]).to_numpy(), dtype=np.bool_)
    return kept


def _summed(table: pa.Table, number: int, aggregate: Aggregate) -> pa.Table:
    """Single rows as sums of one row each."""
    kept = _kept(table, number, aggregate)
    columns = {f"n{number}": kept.astype(np.float64)}
    if aggregate.kind != "count":
        value = np.where(kept, _floats(table[f"v{number}"]), 0.0)
        columns |= {f"{letter}{number}": value**power for power, letter in enumerate("abd", 1)}
    return pa.table(columns)


# -- from estimates to the answer --------------------------------------------------------------------------------------


def shown(
    bound: Bound,
    shape: Shape,
    keys: pa.Table,
    found: Sequence[Estimates],
    compute: Callable[[exp.Select, pa.Table], pa.Table],
) -> pa.Table:
    """The answer: what the query selects, and behind each aggregate its bounds. `compute` lets an engine answer a query over a
    relation that is called as the query's own."""
    columns: dict[str, Any] = {name: keys[name] for name in keys.schema.names}
    for number, (aggregate, estimate) in enumerate(zip(shape.aggregates, found, strict=True)):
        columns[f"a{number}"] = _column(estimate.value, aggregate, np.rint)
        columns[f"a{number}_low"] = _column(estimate.low, aggregate, np.floor)
        columns[f"a{number}_high"] = _column(estimate.high, aggregate, np.ceil)
    rows = pa.table(columns)
    tree, plain, bounded = above(shape, rows)
    names: list[str] = []
    order: list[int] = []
    for place, name in enumerate(bound.names):
        names.append(name)
        order.append(place)
        if place in bounded:
            names += [f"{name}_low", f"{name}_high"]
            at = len(bound.names) + 2 * sorted(bounded).index(place)
            order += [at, at + 1]
    if plain is not None:
        tail = [f"a{bounded[place]}_{end}" for place in sorted(bounded) for end in ("low", "high")]
        answer = rows.select([*plain, *tail])
    else:
        answer = compute(tree, rows)
    return answer.select(order).rename_columns(names)


def above(shape: Shape, rows: pa.Table, *, bounds: bool = True) -> tuple[exp.Select, list[str] | None, dict[int, int]]:
    """The query over its aggregates (`k0`, ..., `a0`, ...), with their bounds at its end if they have any; the columns it
    selects, if it does nothing else; and which of its columns are which aggregates."""
    tree = shape.tree.copy()
    pairs = list(zip(shape.tree.walk(), tree.walk(), strict=True))
    copies = {id(a): b for a, b in pairs}
    alias = exp.to_identifier(shape.use.alias, quoted=True)

    kinds = {column.name: str(column.type) for column in schema_of(rows.schema)}

    def column(name: str) -> exp.Column:
        made = exp.column(exp.to_identifier(name, quoted=True), table=alias.copy())
        made.type = exp.DataType.build(kinds[name], dialect="spark")
        return made

    numbers: dict[int, int] = {}
    for number, aggregate in enumerate(shape.aggregates):
        numbers[id(copies[id(aggregate.node)])] = number
    bounded = {
        place: numbers[id(_unaliased(item))]
        for place, item in enumerate(tree.expressions)
        if id(_unaliased(item)) in numbers
    }
    plain: list[str] | None = []
    for item in tree.expressions:
        bare = _unaliased(item)
        name = f"a{numbers[id(bare)]}" if id(bare) in numbers else None
        name = name or next((f"k{n}" for n, key in enumerate(shape.keys) if key == bare), None)
        plain = [*plain, name] if plain is not None and name is not None else None
    if any(tree.args.get(clause) for clause in ("having", "order", "limit", "offset")):
        plain = None
    for number, aggregate in enumerate(shape.aggregates):
        copies[id(aggregate.node)].replace(column(f"a{number}"))
    for clause in ("expressions", "having", "order"):
        for part in _parts(tree.args.get(clause)):
            for node in [n for n in part.walk() if any(n == key for key in shape.keys)]:
                number = next(n for n, key in enumerate(shape.keys) if key == node)
                if not (isinstance(node, exp.Column) and node.name == f"k{number}"):
                    node.replace(column(f"k{number}"))
    having = tree.args.get("having")
    tree.set("where", exp.Where(this=having.this) if having is not None else None)
    tree.set("group", None)
    tree.set("having", None)
    for place in sorted(bounded) if bounds else ():
        for end in ("low", "high"):
            name = f"a{bounded[place]}_{end}"
            tree.append("expressions", _named(column(name), f"__{name}"))
    return tree, plain, bounded


def _parts(found: Any) -> list[exp.Expr]:
    return found if isinstance(found, list) else [found] if found is not None else []


def _unaliased(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias) else item


def _column(values: npt.NDArray[np.float64], aggregate: Aggregate, whole: Callable[[Any], Any]) -> pa.Array:
    known = np.isfinite(values)
    if aggregate.is_whole:
        return pa.array(np.where(known, whole(np.where(known, values, 0)), 0).astype(np.int64), mask=~known)
    return pa.array(values, mask=~known)


def notes(bound: Bound, shape: Shape, found: Sequence[Estimates]) -> tuple[str, ...]:
    """What has no bounds, and why."""
    told = []
    names: Mapping[int, str] = {
        number: bound.names[place]
        for number, aggregate in enumerate(shape.aggregates)
        for place, item in enumerate(shape.tree.expressions)
        if _unaliased(item) is aggregate.node
    }
    for number, estimate in enumerate(found):
        name = names.get(number)
        if name is None:
            continue
        for reason in dict.fromkeys(r for r in estimate.reason if r):
            count = int(sum(1 for r in estimate.reason if r == reason))
            which = f" of {count:,} of {len(estimate.reason):,} groups" if shape.keys else ""
            told.append(f"{name}{which} has no bounds: {reason}")
    for place, item in enumerate(shape.tree.expressions):
        bare = _unaliased(item)
        if bare.find(exp.AggFunc) is not None and not any(bare is a.node for a in shape.aggregates):
            told.append(f"{bound.names[place]} has no bounds: it is computed from estimates")
    if shape.keys:
        told.append("groups of which no row was read are missing")
    return tuple(told)
