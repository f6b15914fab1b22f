"""Predicates mean what SQL's three-valued logic says: the fast evaluation, the normal form and domains agree with a naive one."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.predicate.form import (
    Always,
    Among,
    And,
    Compare,
    CompareColumns,
    IsNull,
    Never,
    Not,
    Or,
    Predicate,
    Prefix,
    all_of,
    conjuncts,
)
from millpond.predicate.normal import Domain, conjunction, hulls, normal
from millpond.predicate.vector import Columns, Filter, matches
from tests.unit.predicate.naive import PREDICATES, VALUES, Rows, rows, truth

A, B, C = IsNull("a"), IsNull("b"), IsNull("c")
CONSTANT = "a constant is an int, float, Decimal, bool, str or date"


@given(st.lists(PREDICATES, min_size=1, max_size=4), rows())
@settings(max_examples=200, deadline=None)
def test_matches_as_row_by_row(predicates: list[Predicate], sample: list[dict[str, Any]]) -> None:
    columns = Columns(Rows(sample))  # shared, so that atoms are
    for predicate in predicates:
        expected = [truth(predicate, row) is True for row in sample]
        assert matches(predicate, columns).tolist() == expected
        assert Filter(predicate)(columns).tolist() == expected, "asked again"


@given(PREDICATES, rows())
@settings(max_examples=100, deadline=None)
def test_the_normal_form_is_true_false_and_unknown_for_the_same_rows(
    predicate: Predicate, sample: list[dict[str, Any]]
) -> None:
    form = normal(predicate)
    assert [truth(form, row) for row in sample] == [truth(predicate, row) for row in sample]
    assert normal(form) == form
    assert form.columns <= predicate.columns


@given(PREDICATES, rows())
@settings(max_examples=100, deadline=None)
def test_domains_and_the_rest_say_what_the_predicate_says(predicate: Predicate, sample: list[dict[str, Any]]) -> None:
    taken_apart = conjunction(predicate)
    for row in sample:
        accepted = all(row[c] is not None and d.accepts(row[c]) for c, d in taken_apart.domains.items())
        true = accepted and all(truth(part, row) is True for part in taken_apart.rest)
        assert true == (truth(predicate, row) is True)


@given(PREDICATES, rows())
@settings(max_examples=100, deadline=None)
def test_hulls_accept_what_matches(predicate: Predicate, sample: list[dict[str, Any]]) -> None:
    found = hulls(predicate)
    assert found.keys() >= conjunction(predicate).domains.keys()
    for row in sample:
        if truth(predicate, row) is True:
            assert all(row[c] is not None and d.accepts(row[c]) for c, d in found.items())


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Domain(values=frozenset([1])), Domain(values=frozenset([5])), Domain(values=frozenset([1, 5]))),
        (Domain(values=frozenset([1, 3])), Domain(2, 9, high_open=True), Domain(1, 9, high_open=True)),
        (Domain(1, 5, low_open=True, high_open=True), Domain(1, 5), Domain(1, 5)),
        (Domain(1, 5, low_open=True), Domain(1, 3, low_open=True), Domain(1, 5, low_open=True)),
        (Domain(1), Domain(None, 5), Domain()),
        (Domain(values=frozenset()), Domain(1, 5), Domain(1, 5)),
    ],
)
def test_joined_domains(one: Domain, other: Domain, expected: Domain) -> None:
    assert one.join(other) == other.join(one) == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), VALUES["name"], st.text(max_size=1))
def test_the_domain_of_a_prefix(prefix: str, text: str, more: str) -> None:
    (domain,) = conjunction(Prefix("name", prefix)).domains.values()
    assert domain.accepts(prefix + text)
    assert domain.accepts(text + more) == (text + more).startswith(prefix)


def test_atoms_are_evaluated_once_for_all_predicates() -> None:
    columns = Columns(Rows([dict.fromkeys(VALUES, None) | {"whole": 3, "name": "a"}]))
    for least in range(5):
        assert Filter(And((Compare("whole", "=", 3), Compare("whole", ">=", least))))(columns).tolist() == [least <= 3]
    assert len(columns.known) == 6
    assert Filter(Not(Compare("whole", "<", 2)))(columns).tolist() == [True]
    assert len(columns.known) == 6, "NOT whole < 2 is whole >= 2"


def test_shared_results_cannot_be_changed_by_mistake() -> None:
    found = Filter(Compare("whole", "=", 3))(Columns(Rows([dict.fromkeys(VALUES, None) | {"whole": 3}])))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = False


def test_no_rows_in_no_chunks() -> None:
    class Nothing:
        size = 0

        def column(self, name: str) -> pa.ChunkedArray:
            return pa.chunked_array([], pa.string())

    assert Filter(Or((Prefix("name", "a"), IsNull("name"))))(Columns(Nothing())).tolist() == []


def test_a_long_list_of_texts() -> None:
    sample = [dict.fromkeys(VALUES, None) | {"name": name} for name in ("7", "x", None)]
    wanted = Among("name", frozenset(map(str, range(100_000))))
    assert matches(wanted, Columns(Rows(sample))).tolist() == [True, False, False]
    assert matches(Not(wanted), Columns(Rows(sample))).tolist() == [False, True, False]


def test_conjuncts() -> None:
    assert conjuncts(Always()) == ()
    assert conjuncts(Or((A, B))) == (Or((A, B)),)
    assert conjuncts(And((A, And((B, C))))) == (A, B, C)
    assert all_of([]) == Always()
    assert all_of([A, And((B, A))]) == And((A, B))
    assert all_of([A, Never()]) == Never()


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (Not(And((A, Or((B, Not(C)))))), Or((Not(A), And((Not(B), C))))),
        (Not(CompareColumns("a", "<", "b", 3)), CompareColumns("a", ">=", "b", 3)),
        (Or((Compare("a", "=", 1), A, Among("a", frozenset([2])))), Or((Among("a", frozenset([1, 2])), A))),
        (Or((Compare("a", "=", 1), Compare("a", "=", 1))), Compare("a", "=", 1)),
        (Or((A, Not(Never()))), Always()),
        (Or((Never(), Not(Always()))), Never()),
        (Not(Not(A)), A),
        (Not(Compare("a", "<", 5.0)), Compare("a", ">=", 5.0)),
        (Not(Compare("a", "=", True)), Compare("a", "=", False)),
        (Compare("a", "<>", False), Compare("a", "=", True)),
    ],
)
def test_normal_form(predicate: Predicate, expected: Predicate) -> None:
    assert normal(predicate) == expected


def test_domains() -> None:
    found = conjunction(
        And(
            (
                Compare("a", ">", 2),
                Compare("a", ">=", 2),
                Compare("a", "<", 9),
                Among("b", frozenset([1, 2, 3])),
                Compare("b", "<>", 2),
                Compare("b", ">", 1),
                Not(IsNull("c")),
                Prefix("d", "ab"),
            )
        )
    )
    assert found.domains == {
        "a": Domain(2, 9, low_open=True, high_open=True),
        "b": Domain(values=frozenset([2, 3])),
        "c": Domain(),
        "d": Domain("ab", "ac", high_open=True),
    }
    assert found.rest == (Compare("b", "<>", 2),)


def test_domains_of_floating_numbers() -> None:
    (more,) = conjunction(Compare("x", ">", 5.0)).domains.values()
    assert [more.accepts(x) for x in (5.0, 5.5, math.inf, math.nan)] == [False, True, True, True]
    (less,) = conjunction(Not(Compare("x", ">", 5.0))).domains.values()
    assert [less.accepts(x) for x in (5.0, 5.5, -math.inf, math.nan)] == [True, False, True, False]
    (between,) = conjunction(And((Compare("x", ">=", 0.0), Compare("x", "<=", math.inf)))).domains.values()
    assert [between.accepts(x) for x in (-0.0, math.inf, math.nan)] == [True, True, False]
    (nothing_else,) = conjunction(Compare("x", ">", math.inf)).domains.values()
    assert [nothing_else.accepts(x) for x in (math.inf, math.nan)] == [False, True]


ONES = [1, 1.0, Decimal(1), True]


def test_constants_that_python_takes_for_equal_are_told_apart() -> None:
    for make in (
        lambda value: Compare("a", "=", value),
        lambda value: Among("a", frozenset([value])),
        lambda value: normal(Or((Compare("a", "=", value), A))),
    ):
        assert len({make(value) for value in ONES}) == 4
        assert pickle.loads(pickle.dumps(list(map(make, ONES)))) == list(map(make, ONES))
    assert len({CompareColumns("a", "<", "b", value) for value in (1, 1.0, Decimal(1))}) == 3
    assert all_of([Compare("a", "=", 1), Compare("a", "=", 1.0)]) == And((Compare("a", "=", 1), Compare("a", "=", 1.0)))
    assert normal(Or((Compare("a", "=", 1), Compare("a", "=", 1.0)))) == Or(
        (Compare("a", "=", 1), Compare("a", "=", 1.0))
    )
    assert Compare("a", "=", Decimal("1.0")) == Compare("a", "=", Decimal(1))
    assert Compare("a", "=", -0.0) == Compare("a", "=", 0.0)


def test_a_constant_of_another_kind_is_no_question() -> None:
    columns = Columns(Rows([dict.fromkeys(VALUES, None)]))
    for column, right in {"whole": 1, "price": 1.0, "cost": Decimal(1), "flag": True}.items():
        for value in ONES:
            if type(value) is type(right):
                assert matches(Compare(column, "=", value), columns).tolist() == [False]
            else:
                with pytest.raises(AssertionError):
                    matches(Compare(column, "=", value), columns)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Compare("", "=", 1), "a column is named by a text that is not empty, not ''"),
        (lambda: Compare("a", "==", 1), "'==' is none of the operators = <> < <= > >="),  # type: ignore[arg-type]
        (lambda: Compare("a", "=", None), f"{CONSTANT}, not NoneType"),  # type: ignore[arg-type]
        (lambda: Compare("a", "=", b"1"), f"{CONSTANT}, not bytes"),  # type: ignore[arg-type]
        (lambda: Compare("a", "=", datetime(2026, 1, 1)), f"{CONSTANT}, not datetime"),
        (lambda: Compare("a", "=", math.nan), "NaN is no constant: what equals it is greater than infinity"),
        (lambda: Compare("a", "=", Decimal(10**38)), "a decimal constant has at most 38 digits"),
        (lambda: Compare("a", "=", Decimal("1E-39")), "a decimal constant has at most 38 digits"),
        (lambda: Compare("a", "=", Decimal("NaN")), "a decimal constant has at most 38 digits"),
        (lambda: Compare("a", "=", "\ud800"), "half of a surrogate pair is no text"),
        (lambda: CompareColumns("a", "=", "b", 1 << 63), "an offset is a 64-bit integer, not 9223372036854775808"),
        (lambda: CompareColumns("a", "=", "b", math.inf), "an offset is a number, not inf"),
        (lambda: CompareColumns("a", "=", "b", True), "an offset is a number, not True"),
        (lambda: Among("a", frozenset()), "the values are a frozenset with at least one element"),
        (lambda: Among("a", [1]), "the values are a frozenset with at least one element"),  # type: ignore[arg-type]
        (lambda: Among("a", frozenset([1, date.min])), "constants of different types: date, int"),
        (lambda: Among("a", frozenset([1, 2.5])), "constants of different types: float, int"),
        (lambda: Prefix("a", 1), "a prefix is text, not 1"),  # type: ignore[arg-type]
        (lambda: And((A,)), "AND takes a tuple of at least two predicates"),
        (lambda: Or([A, B]), "OR takes a tuple of at least two predicates"),  # type: ignore[arg-type]
        (lambda: Not("a"), "'a' is no predicate"),  # type: ignore[arg-type]
    ],
)
def test_what_is_refused(make: Callable[[], Predicate], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()
