"""A continuous query depends on the rows in its windows alone: chance and the wall clock are refused, with that reason."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import millpond
from millpond.sql.spark_functions import ALLOWED, TABLE_FUNCTIONS, not_deterministic

CHANCE = [
    "rand()",
    "rand(7)",
    "random()",
    "randn()",
    "uuid()",
    "shuffle(array(v))",
    "uniform(1,v)",
    "randstr(3)",
    "monotonically_increasing_id()",
    "aes_encrypt(name,'0000111122223333')",
    "kll_sketch_agg_bigint(v)",
]
CLOCK = [
    "CURRENT_TIMESTAMP",
    "current_timestamp()",
    "CURRENT_DATE",
    "current_date()",
    "curdate()",
    "localtimestamp()",
    "current_time()",
    "localtime()",
    "unix_timestamp()",
    "DATE'today'",
    "TIMESTAMP'now'",
    "year('yesterday')",
    "ts>'tomorrow'",
    "CAST('now\tUTC'AS\tTIMESTAMP)",
]
FINE = [
    "NOW()",
    "unix_timestamp(name,'yyyy')",
    "aes_encrypt(name,'0000111122223333','ECB')",
    "current_timezone()",
    "name='today'",
    "soundex('now\tplaying')",
    "first(v)",
    "collect_list(v)",
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path_factory.mktemp("pond")) as found:
        found.sql("CREATE STREAMING TABLE p (name STRING, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts")
        yield found


def refusal(db: millpond.Pond, expression: str) -> millpond.MillpondError | None:
    try:
        check(db, f"SELECT {expression} AS x FROM p [NOW]")
    except millpond.UnsupportedSql as error:
        return error
    return None


def check(db: millpond.Pond, sql: str) -> None:
    from millpond.catalog import ContinuousQuery
    from millpond.network.plan.prepared import prepare
    from millpond.schema import Schema

    query = ContinuousQuery("q", sql, "rstream", None, Schema(()), "q", ())
    prepare(query, db._workspace.catalog)


@pytest.mark.parametrize("expression", CHANCE)
def test_chance_is_refused(db: millpond.Pond, expression: str) -> None:
    found = refusal(db, expression)
    assert found is not None
    assert found.primary == f'function "{expression.partition("(")[0]}" is not deterministic'
    assert (
        found.detail == "It depends on chance; the results of a continuous query follow from the rows in its windows."
    )
    assert found.hint == "Let chance decide when rows are inserted, and keep what it gave in a column."


@pytest.mark.parametrize("expression", CLOCK)
def test_the_wall_clock_is_refused(db: millpond.Pond, expression: str) -> None:
    found = refusal(db, expression)
    assert found is not None
    assert found.primary.endswith("is not deterministic")
    assert (found.detail or "").startswith("It depends on the wall clock;")
    assert found.hint == "NOW() is the instant of evaluation; it is of the type of the table's time."


@pytest.mark.parametrize("expression", FINE)
def test_what_follows_from_the_rows_is_not(db: millpond.Pond, expression: str) -> None:
    assert refusal(db, expression) is None


@pytest.mark.parametrize("sample", ["10 PERCENT", "BUCKET 1 OUT OF 3"])
def test_a_sample_is_chance(db: millpond.Pond, sample: str) -> None:
    with pytest.raises(millpond.UnsupportedSql, match="TABLESAMPLE is not deterministic"):
        check(db, f"SELECT v FROM p [NOW] TABLESAMPLE ({sample}) AS s")


def test_a_word_that_may_be_the_clock_is_refused_where_names_are_left_to_spark(db: millpond.Pond) -> None:
    with pytest.raises(millpond.UnsupportedSql, match="CURRENT_TIME is not deterministic"):
        check(db, "SELECT *, current_time FROM (SELECT name, v FROM p [NOW]) PIVOT (sum(v) FOR name IN ('a', 'b'))")


def test_every_function_of_chance_and_the_clock_is_a_function() -> None:
    known = ALLOWED | TABLE_FUNCTIONS
    reasons = {name: not_deterministic(name, 0) for name in known}
    assert {name for name, reason in reasons.items() if reason == "the wall clock"} == {
        *(
            "curdate",
            "current_date",
            "current_time",
            "current_timestamp",
            "localtime",
            "localtimestamp",
            "unix_timestamp",
        )
    }
    assert {name for name, reason in reasons.items() if reason == "chance"} == {
        *("monotonically_increasing_id", "rand", "randn", "random", "randstr", "shuffle", "uniform", "uuid"),
        *("aes_encrypt",),
        *(
            f"kll_{name}_{kind}"
            for name in ("merge_agg", "sketch_agg", "sketch_merge")
            for kind in ("bigint", "double", "float")
        ),
    }


def test_a_users_function_and_spark_do_not_meet(db: millpond.Pond) -> None:
    db.sql("CREATE FUNCTION tag(x BIGINT) RETURNS BIGINT AS PYTHON 'math:floor'")
    with pytest.raises(millpond.UnsupportedSql) as raised:
        check(db, "SELECT soundex(name) AS s, tag(v) AS t FROM p [NOW]")
    assert raised.value.primary == "this query needs Spark, where the user's functions in it do not run: tag"
    assert raised.value.detail == "Spark is needed because: function soundex is only supported on Spark."
    assert raised.value.hint == "Call the functions in a streaming view, and let this query read its results."
