"""The kinds of queries whose groups are held as numbers instead of rows: which columns make a group, and what is held."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import pyarrow as pa

from millpond.errors import MillpondError
from millpond.network.aggregates.approximate import Approximated, approximate_shape
from millpond.network.aggregates.correlated import Correlations, correlated_shape
from millpond.network.aggregates.running import Running, shape_of
from millpond.network.aggregates.summaries import UPTO, Summarised
from millpond.network.plan.kinds import APPROXIMATE, CORRELATED
from millpond.network.plan.prepared import Prepared
from millpond.network.state.history import History

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
        what = _words(prepared, approximate, interval, prepared.slide)
        return Approximated(approximate, schema, upto, interval, prepared.slide, what)
    if kind == CORRELATED:
        correlated = correlated_shape(prepared)
        assert correlated is not None
        assert use.window is not None
        assert use.window.landmark is not None
        between = prepared.unit.ticks(use.window.landmark)
        return Correlations(correlated, schema, upto, between, _words(prepared, correlated, between, prepared.slide))
    return Running(shape_of(prepared.bound.tree, use.columns), schema, upto)


def _words(prepared: Prepared, *held: object) -> str:
    """What the synopses of a query are: queries of the same words hold the same. None where a function of the user decides
    which rows there are, as nobody knows whether it has changed."""
    where = (prepared.bound.written or prepared.bound.tree).args.get("where")
    if prepared.bound.functions:
        return ""
    return repr((*held, where.sql() if where else ""))


def begun(make: Callable[[], Held], history: History, stream: str) -> Held:
    """What a query holds to begin with: what a snapshot has of it, if there is a good one, else nothing."""
    held = make()
    if isinstance(held, Summarised) and held.what:
        kept = history.kept(stream, held.what, held.upto, held.schema, UPTO)
        if kept is not None:
            try:
                held.restore(*kept)
            except (MillpondError, pa.ArrowException, LookupError, ValueError, TypeError):
                return make()
    return held


def past_of(held: Held, history: History, stream: str, names: Collection[str], low: int | None) -> Iterator[pa.Table]:
    """The rows from `low` on that fill what a query holds, with the columns it needs, part by part."""
    if isinstance(held, Summarised):
        low = held.first_missing if low is None else max(low, held.first_missing)
    yield from history.parts(stream, names, low, held.upto)
    if isinstance(held, Summarised):
        held.filled()


def worth_keeping(prepared: Prepared, held: Held | None) -> Iterator[tuple[str, str, int, Summarised]]:
    """Stream, what it is, up to which time, and what is held, where a snapshot saves much."""
    if isinstance(held, Summarised) and held.what and held.is_large:
        yield prepared.streams[0].table.name, held.what, held.upto, held
