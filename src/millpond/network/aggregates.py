"""The kinds of queries whose groups are held as numbers instead of rows: which columns make a group, and what is held."""

from __future__ import annotations

import pyarrow as pa

from millpond.network.approximate import Approximated, approximate_shape
from millpond.network.correlated import Correlations, correlated_shape
from millpond.network.kinds import APPROXIMATE, CORRELATED
from millpond.network.prepare import Prepared
from millpond.network.running import Running, shape_of

Held = Running | Approximated | Correlations


def grouped_by(prepared: Prepared, kind: str) -> tuple[str, ...]:
    """The columns by which a query of such a kind is grouped."""
    if kind == APPROXIMATE:
        approximate = approximate_shape(prepared)
        assert approximate is not None
        return approximate.groups
    if kind == CORRELATED:
        correlated = correlated_shape(prepared)
        assert correlated is not None
        return correlated.groups
    return shape_of(prepared.bound.tree, prepared.streams[0].columns).groups


def held_for(prepared: Prepared, kind: str, schema: pa.Schema, upto: int) -> Held:
    """What such a query holds, without rows so far, at `upto`."""
    use = prepared.streams[0]
    if kind == APPROXIMATE:
        approximate, interval = approximate_shape(prepared), prepared.interval(use)
        assert approximate is not None
        assert interval is not None
        return Approximated(approximate, schema, upto, interval, prepared.slide)
    if kind == CORRELATED:
        correlated = correlated_shape(prepared)
        assert correlated is not None
        assert use.window is not None
        assert use.window.landmark is not None
        return Correlations(correlated, schema, upto, prepared.unit.ticks(use.window.landmark))
    return Running(shape_of(prepared.bound.tree, use.columns), schema, upto)
