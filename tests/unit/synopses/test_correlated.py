"""The parts of correlated aggregates, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from millpond.synopses import CorrelatedAggregate, Estimate, Predicate, SynopsisError
from millpond.synopses.correlated import Limit, Strategy
from millpond.synopses.correlated.curve import ESTIMATE, LOWER, UPPER, Curve
from millpond.synopses.correlated.placing import Aim, RowSpread, apart, count_quantiles, piecemeal, swap, uniform

ABOVE = Predicate.above("avg")


def test_the_examples_of_the_paper_are_exact_while_there_are_few_values() -> None:
    durations = [3.0, 8.0, 8.0, 20.0]
    foreign = [0.0, 1.0, 0.0, 1.0]
    longer = CorrelatedAggregate("sum", ABOVE)
    longer.add_many(None, (np.array(durations), np.array(foreign)))
    assert longer.estimate() == Estimate.exactly(1.0)
    near = CorrelatedAggregate("count", Predicate.above("max", 0.4, closed=True))
    near.add_many(None, durations)
    assert near.estimate() == Estimate.exactly(3.0)
    mean = CorrelatedAggregate("avg", Predicate.within("avg", 2.0))
    mean.add_many(None, durations)
    assert mean.estimate() == Estimate.exactly(8.0)


def test_rows_come_as_columns_as_rows_or_one_by_one() -> None:
    made = [CorrelatedAggregate("sum", ABOVE) for _ in range(3)]
    made[0].add_many(None, ([1.0, 2.0, 9.0], [5.0, 6.0, 7.0]))
    made[1].add_many(None, np.array([[1.0, 5.0], [2.0, 6.0], [9.0, 7.0]]))
    for row in ((1.0, 5.0), (2.0, 6.0), (9.0, 7.0)):
        made[2].add(None, row)
    assert [m.estimate() for m in made] == [Estimate.exactly(7.0)] * 3
    assert made[0].to_bytes() == made[1].to_bytes() == made[2].to_bytes()


def test_without_rows_a_count_is_zero_and_an_average_is_not_a_number() -> None:
    assert CorrelatedAggregate("count", ABOVE).estimate() == Estimate.exactly(0.0)
    assert math.isnan(CorrelatedAggregate("avg", ABOVE).estimate().value)
    same = CorrelatedAggregate("avg", ABOVE)
    same.add_many(None, [4.0, 4.0])
    assert math.isnan(same.estimate().value)


def test_a_new_landmark_forgets_all_rows() -> None:
    made = CorrelatedAggregate("count", ABOVE)
    empty = made.to_bytes()
    made.add_many(None, np.arange(1000.0))
    made.reset()
    assert made.to_bytes() == empty


def test_memory_does_not_grow_with_rows_or_the_window() -> None:
    random = np.random.default_rng(3)
    for predicate in (ABOVE, Predicate.below("min", 50.0)):
        landmark = CorrelatedAggregate("count", predicate)
        short, long = (CorrelatedAggregate("count", predicate, window=w) for w in (1000, 10_000))
        for made in (landmark, short, long):
            made.add_many(None, random.lognormal(3, 2, 20_000))
        assert landmark.nbytes < 600
        assert abs(short.nbytes - long.nbytes) <= 700  # one pane more or less
        assert long.nbytes < 9000


def test_buckets_start_again_when_a_new_extreme_leaves_all_rows_behind() -> None:
    made = CorrelatedAggregate("count", Predicate.below("min", 2.0, closed=True), buckets=3)
    made.add_many(None, np.linspace(1000, 2000, 100))
    assert made.estimate().value == 100
    made.add_many(None, [7.0, 14.0, 15.0, 900.0])
    assert made.estimate() == Estimate.exactly(2.0)


def test_a_sliding_window_that_is_given_what_leaves_counts_it_exactly_at_its_thresholds() -> None:
    x = np.tile(np.arange(1.0, 8.0), 100)
    made = CorrelatedAggregate("count", Predicate.below("min", 3.0, closed=True), window=70, leaving="given")
    made.add_many(None, x[:70])
    made.add_many(None, x[70:300], leaving=x[:230])
    assert made.estimate() == Estimate.exactly(30.0)


def test_the_independent_aggregate_of_a_sliding_window_has_bounds() -> None:
    made = CorrelatedAggregate("count", Predicate.below("min", 3.0), window=8, panes=2)
    made.add_many(None, [1.0, 2.0, 3.0, 4.0, 7.0, 8.0, 9.0, 6.0])
    assert made.independent() == Estimate.exactly(1.0)
    made.add_many(None, [9.0])  # 1 has left; what remains of its pane is not known
    assert made.independent() == Estimate(4.0, 1.0, 4.0)


@pytest.mark.parametrize("strategy", [str(s) for s in Strategy])
def test_each_strategy_is_near_on_a_calm_stream(strategy: str) -> None:
    x = np.random.default_rng(5).normal(100, 10, 5000)
    made = CorrelatedAggregate("count", ABOVE, strategy=strategy)
    made.add_many(None, x)
    truth = int((x > x.mean()).sum())
    found = made.estimate()
    assert found.lower <= truth <= found.upper
    assert abs(found.value - truth) < 50


def test_count_with_min_on_zipf_has_an_error_below_five_with_ten_buckets() -> None:
    """On the average of orders: an order in which the lowest value falls far at once can make it larger."""
    mass = np.cumsum(np.arange(1.0, 1_000_001) ** -0.7)
    errors = []
    for seed in range(8):
        x = mass.searchsorted(np.random.default_rng(seed).random(2000) * mass[-1]) + 1.0
        made = CorrelatedAggregate("count", Predicate.below("min", 1001.0))
        squares = []
        for end in range(20, len(x) + 1, 20):
            made.add_many(None, x[end - 20 : end])
            squares.append((made.estimate().value - (x[:end] < 1001 * x[:end].min()).sum()) ** 2)
        errors.append(math.sqrt(np.mean(squares)))
    assert np.mean(errors) < 5
    assert np.median(errors) < 2


# -- parts ------------------------------------------------------------------------------------------------------------


def test_a_moved_knot_has_the_bounds_of_its_neighbours() -> None:
    curve = Curve(1)
    for x in (0.0, 10.0):
        curve.insert(x)
    curve.add(curve.buckets(np.array([0.0, 10.0, 10.0, 10.0])), [None])
    ends = np.array([0.0]), np.array([10.0]), np.array([[4.0]])
    curve.move(np.array([4.0, 8.0]), *ends)
    assert curve.values()[0, 0, ESTIMATE].tolist() == [1.0, 1.0]  # exact, from single values
    curve.add(curve.buckets(np.array([5.0, 6.0, 7.0, 8.0])), [None])
    ends = np.array([0.0]), np.array([10.0]), np.array([[8.0]])
    curve.move(np.array([5.0]), *ends)
    at = curve.values()[0, 0, :, 0]
    assert (at[ESTIMATE], at[LOWER], at[UPPER]) == (2.0, 1.0, 5.0)


def test_uniform_knots_end_with_the_threshold_of_an_extreme_and_enclose_an_average() -> None:
    assert uniform(Aim(((0.0, 10.0),)), 5).tolist() == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert uniform(Aim(((0.0, 8.0),), normal=True), 5).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert uniform(Aim(((0.0, 1.0), (8.0, 9.0)), normal=True), 4).tolist() == [0.0, 1.0, 8.0, 9.0]


def test_quantile_knots_hold_equal_counts() -> None:
    rows = RowSpread(np.array([0.0, 1.0, 10.0]), np.array([0.0, 6.0, 8.0]))
    assert count_quantiles(Aim(((0.0, 10.0),)), 4, rows) == pytest.approx([1 / 3, 2 / 3, 1.0, 10.0])


def test_piecemeal_keeps_what_is_inside_and_splits_the_widest() -> None:
    knots = np.array([1.0, 2.0, 8.0, 20.0, 30.0])
    assert piecemeal(Aim(((0.0, 10.0),), (10.0,)), 5, knots, None).tolist() == [1.0, 2.0, 5.0, 8.0, 10.0]
    assert piecemeal(Aim(((0.0, 40.0),), (40.0,)), 4, knots, None).tolist() == [8.0, 20.0, 30.0, 40.0]


def test_a_swap_is_made_only_when_counts_come_nearer() -> None:
    aim = Aim(((0.0, 5.0),), (5.0,))
    knots = np.array([1.0, 2.0, 3.0, 5.0])
    full = RowSpread(np.array([0.0, 1.0, 2.0, 3.0, 5.0]), np.array([0.0, 1.0, 2.0, 3.0, 103.0]))
    even = RowSpread(np.array([0.0, 1.0, 2.0, 3.0, 5.0]), np.array([0.0, 5.0, 10.0, 15.0, 20.0]))
    swapped = swap(knots, full, aim)
    assert swapped is not None
    assert swapped.tolist() == [2.0, 3.0, 4.0, 5.0]
    assert swap(knots, even, aim) is None


def test_regions_that_touch_are_one() -> None:
    assert apart([(5.0, 6.0), (0.0, 2.0), (1.0, 3.0)]) == ((0.0, 3.0), (5.0, 6.0))


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dependent": "median"}, "a dependent aggregate is one of count, sum, avg, not 'median'"),
        ({"strategy": "best"}, "a strategy is one of piecemeal-uniform"),
        ({"buckets": 2}, "buckets must be from 3"),
        ({"window": 0}, "a window must be from 1"),
        ({"leaving": "maybe"}, 'leaving must be "estimated" or "given"'),
        ({"deviations": 0.0}, "deviations must be more than 0"),
    ],
    ids=["dependent", "strategy", "buckets", "window", "leaving", "deviations"],
)
def test_wrong_parameters_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SynopsisError, match=message):
        CorrelatedAggregate(**({"dependent": "count", "predicate": ABOVE} | options))  # type: ignore[arg-type]


def test_a_range_needs_an_end_and_must_follow_its_aggregate() -> None:
    with pytest.raises(SynopsisError, match="needs a low or a high limit"):
        Predicate("avg")  # type: ignore[arg-type]
    with pytest.raises(SynopsisError, match="factor of at least 0"):
        Limit(-1.0)


def test_what_is_refused_changes_nothing() -> None:
    made = CorrelatedAggregate("count", ABOVE, window=2, leaving="given")
    made.add_many(None, [1.0, 2.0])
    before = made.to_bytes()
    for times, values, leaving, message in (
        ([1], [1.0], None, "takes no times"),
        (None, [1.0, math.nan], None, "must be finite numbers"),
        (None, ["a"], None, "must be numbers"),
        (None, ([1.0], [1.0, 2.0]), None, "there are 1 x and 2 y"),
        (None, [3.0], None, "1 row leaves the window, but 0 were given"),
    ):
        with pytest.raises(SynopsisError, match=message):
            made.add_many(times, values, leaving=leaving)
    with pytest.raises(SynopsisError, match="its own window only"):
        made.estimate(window=1)
    assert made.to_bytes() == before


def test_rows_that_leave_are_refused_where_nothing_leaves() -> None:
    with pytest.raises(SynopsisError, match="rows that leave are not wanted here"):
        CorrelatedAggregate("count", ABOVE).add_many(None, [1.0], leaving=[1.0])


def test_sliding_windows_and_different_questions_do_not_merge() -> None:
    sliding = CorrelatedAggregate("count", ABOVE, window=10)
    with pytest.raises(SynopsisError, match="sliding windows of rows do not merge"):
        sliding.merge(CorrelatedAggregate("count", ABOVE, window=10))
    with pytest.raises(SynopsisError, match="different parameters do not merge"):
        CorrelatedAggregate("count", ABOVE).merge(CorrelatedAggregate("sum", ABOVE))
