"""Which strategy a query gets, why not another, and what a strategy tells about itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond.errors import EngineError
from millpond.event_time import Progress
from millpond.network.evaluate.evaluator import Evaluator
from millpond.network.plan.prepared import Prepared, prepare
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.registry import STRATEGIES, choose
from millpond.query.clauses import Refusal, clauses, group_keys, key_columns, only
from millpond.sql.dialect import read_tree, tokenize

PLAIN = "SELECT k, v, t FROM p [NOW] WHERE v > 1 SAMPLE REALTIME"
KEYED = "SELECT ISTREAM k, v FROM p [k ROWS 2] SAMPLE REALTIME"
NEWEST = "SELECT k, PREV(v) AS w FROM p [k ROWS 2] WHERE t = NOW() SAMPLE REALTIME"
RUNNING = "SELECT ISTREAM k, SUM(v) AS s FROM p [UNBOUNDED] GROUP BY k SAMPLE REALTIME"
APPROXIMATE = "SELECT k, APPROX_COUNT(*, 0.1) AS n FROM p [INTERVAL 5] GROUP BY k SAMPLE INTERVAL 5"
CORRELATED = "SELECT CORRELATED_COUNT(v > AVG(v)) AS n FROM p [LANDMARK INTERVAL 10] SAMPLE INTERVAL 5"
GROUPED = "SELECT k, AVG(v) AS a FROM p [INTERVAL 5] WHERE v > {} GROUP BY k SAMPLE INTERVAL 5"


@pytest.fixture(scope="module")
def pond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with millpond.connect(tmp_path_factory.mktemp("strategies") / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
        yield db


def prepared(pond: Any, sql: str, name: str = "q") -> Prepared:
    pond.sql(f"CREATE CONTINUOUS QUERY {name} AS {sql}")
    try:
        return prepare(pond._workspace.catalog.query(name), pond._workspace.catalog)
    finally:
        pond.sql(f"DROP CONTINUOUS QUERY {name}")


@pytest.mark.parametrize(
    ("sql", "name", "local"),
    [
        (PLAIN, "rows", True),
        ("SELECT ISTREAM v, t FROM p [INTERVAL 5] SAMPLE REALTIME", "rows", True),
        (KEYED, "neighbours", True),
        ("SELECT DSTREAM v FROM p [k ROWS 2] SAMPLE REALTIME", "neighbours", False),
        (NEWEST, "newest", True),
        ("SELECT v FROM p [v ROWS 2] WHERE t = NOW() SAMPLE REALTIME", "newest", False),
        (RUNNING, "running", True),
        ("SELECT v, COUNT(*) AS n FROM p [UNBOUNDED] GROUP BY v SAMPLE INTERVAL 5", "running", False),
        (APPROXIMATE, "approximate", True),
        (CORRELATED, "correlated", False),
        (GROUPED.format(1), "instants", True),
        ("SELECT COUNT(*) AS n FROM p [INTERVAL 5] SAMPLE INTERVAL 5", "instants", False),
        (
            "SELECT k, COUNT(*) AS n FROM p [INTERVAL 5] GROUP BY k ORDER BY n LIMIT 1 SAMPLE INTERVAL 5",
            "instants",
            False,
        ),
        ("SELECT k, COUNT(*) AS n FROM p [INTERVAL 5] GROUP BY k SAMPLE REALTIME", "instants", False),
    ],
)
def test_each_query_has_the_first_strategy_that_fits(pond: Any, sql: str, name: str, local: bool) -> None:
    choice = choose(prepared(pond, sql))
    assert choice.strategy.name == name
    assert list(choice.refusals) == [s.name for s in STRATEGIES[: len(choice.refusals)]]
    assert choice.strategy.local_to(pond._workspace.catalog.streaming["p"]) == local


@pytest.mark.parametrize(
    ("sql", "strategy", "reason"),
    [
        ("SELECT k FROM p [INTERVAL 5] SAMPLE REALTIME", "rows", "rows of earlier instants are in its result"),
        ("SELECT ISTREAM k FROM p [INTERVAL 5] SAMPLE REALTIME", "rows", "it does not select the time of a row"),
        ("SELECT DISTINCT k FROM p [NOW] SAMPLE REALTIME", "rows", "it has DISTINCT"),
        ("SELECT k FROM p [NOW] ORDER BY k SAMPLE REALTIME", "rows", "it has ORDER BY"),
        ("SELECT k FROM p [NOW] LIMIT 1 SAMPLE REALTIME", "rows", "it has LIMIT"),
        (
            "SELECT a.k FROM p [NOW] a JOIN p [NOW] b ON a.k = b.k SAMPLE REALTIME",
            "rows",
            "it reads more than one table",
        ),
        ("SELECT k FROM (SELECT k FROM p [NOW]) SAMPLE REALTIME", "rows", "it is more than one SELECT"),
        ("SELECT COUNT(*) AS n FROM p [NOW] SAMPLE REALTIME", "rows", "it looks at several rows at once"),
        ("SELECT k FROM p [NOW] WHERE v > NOW() SAMPLE REALTIME", "rows", "it names NOW()"),
        ("SELECT k FROM p [NOW] SAMPLE INTERVAL 5", "rows", "it is not evaluated at each arrival"),
        ("SELECT k FROM p [k ROWS 2] SAMPLE REALTIME", "rows", "its window is not one by time"),
        ("SELECT k FROM p [k ROWS 2] SAMPLE REALTIME", "neighbours", "it sends its whole result"),
        ("SELECT ISTREAM k FROM p [ROWS 2] SAMPLE REALTIME", "neighbours", "its window is not [cols ROWS k]"),
        ("SELECT k FROM p [k ROWS 2] SAMPLE REALTIME", "newest", "it does not ask for the rows of the instant"),
        ("SELECT DSTREAM k FROM p [k ROWS 2] WHERE t = NOW() SAMPLE REALTIME", "newest", "it sends what is gone"),
        (GROUPED.format(1), "running", "its window does not only grow"),
        (GROUPED.format(1), "approximate", "it has no aggregate for which it names an error"),
        (GROUPED.format(1), "correlated", "it has no correlated aggregate"),
    ],
)
def test_a_refusal_tells_the_reason(pond: Any, sql: str, strategy: str, reason: str) -> None:
    refusal = choose(prepared(pond, sql)).refusals[strategy]
    assert refusal.reason.startswith(reason)
    assert not refusal.asked


def test_the_last_strategy_fits_every_query(pond: Any) -> None:
    for sql in (PLAIN, KEYED, NEWEST, APPROXIMATE, CORRELATED, GROUPED.format(1)):
        assert not isinstance(STRATEGIES[-1].match(prepared(pond, sql)), Refusal)


def tree_of(sql: str) -> Any:
    return read_tree(sql, tokenize(sql))


def test_clauses_that_are_not_named_are_refused() -> None:
    tree = tree_of("SELECT k FROM p WHERE v > 1 GROUP BY k HAVING COUNT(*) > 1 ORDER BY k LIMIT 3")
    assert sorted(clauses(tree)) == ["GROUP BY", "HAVING", "LIMIT", "ORDER BY", "WHERE"]
    assert only(tree, "where", "group", "having", "order", "limit") is None
    assert only(tree, "where", "group", "order", "limit") == Refusal("it has HAVING")
    assert only(tree_of("SELECT k FROM (SELECT k FROM p)")) == Refusal("it is more than one SELECT")
    assert only(tree_of("SELECT k FROM p UNION ALL SELECT k FROM p")) == Refusal("it is more than one SELECT")
    assert only(tree_of("SELECT 1")) == Refusal("it does not read a table")


def test_keys_of_groups() -> None:
    assert key_columns(tree_of("SELECT 1 FROM p GROUP BY K, v + 1")) == {"k"}
    assert group_keys(tree_of("SELECT 1 FROM p")) == []
    for grouping in ("CUBE (k)", "ROLLUP (k)", "k WITH ROLLUP", "GROUPING SETS ((k), ())"):
        assert isinstance(group_keys(tree_of(f"SELECT 1 FROM p GROUP BY {grouping}")), Refusal)
        assert key_columns(tree_of(f"SELECT 1 FROM p GROUP BY {grouping}")) == frozenset()


class Nothing:
    """History without rows."""

    def __init__(self) -> None:
        self.schema = pa.schema([])

    def rows(self, *_: Any) -> pa.Table:
        return self.schema.empty_table()

    newest = rows

    def keyed(self, *_: Any) -> Iterator[pa.Table]:
        return iter(())

    parts = keyed

    def kept(self, *_: Any) -> None:
        return None

    before = kept


def evaluator_of(pond: Any, queries: dict[str, str]) -> Evaluator:
    history = Nothing()
    evaluator = Evaluator(history)  # type: ignore[arg-type]
    inlet = evaluator.open(pond._workspace.catalog.streaming["p"])
    history.schema = inlet.schema
    inlet.begin_at(0)
    for name, sql in queries.items():
        evaluator.add(prepared(pond, sql, name), Progress(0, None))
    return evaluator


def step(evaluator: Evaluator, rows: list[tuple[int, int, int]], first: int, now: int) -> dict[str, pa.Table]:
    numbered = [(*row, first + i) for i, row in enumerate(rows)]
    columns = list(zip(*numbered, strict=True)) if rows else [[]] * 4
    schema = evaluator.inlets["p"].schema
    table = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
    return evaluator.step({"p": table}, {"p": now})


ALL = {
    "rows": PLAIN,
    "neighbours": KEYED,
    "newest": NEWEST,
    "running": RUNNING,
    "approximate": APPROXIMATE,
    "correlated": CORRELATED,
    "instants": GROUPED.format(1),
}


def test_costs_are_counted(pond: Any) -> None:
    evaluator = evaluator_of(pond, ALL)
    sent: dict[str, int] = dict.fromkeys(ALL, 0)
    for at in range(0, 20, 5):
        found = step(evaluator, [(k, k + 1, at + k) for k in range(4)], at, at + 5)
        for name, rows in found.items():
            sent[name] += rows.num_rows
    for name, strategy in evaluator.strategies.items():
        assert strategy.name == name
        cost = strategy.cost
        assert cost.rows_out == sent[name] > 0, name
        assert cost.rows_in > 0, name
        assert cost.evaluations > 0, name
        assert cost.seconds > 0, name
    evaluator.close()


def test_a_step_without_anything_to_do_costs_nothing(pond: Any) -> None:
    evaluator = evaluator_of(pond, ALL)
    step(evaluator, [(1, 1, 1)], 0, 5)
    before = {name: (s.cost.evaluations, s.cost.seconds) for name, s in evaluator.strategies.items()}
    step(evaluator, [], 1, 5)
    assert {name: (s.cost.evaluations, s.cost.seconds) for name, s in evaluator.strategies.items()} == before
    evaluator.close()


def test_partitioned_windows_are_shared_and_given_back(pond: Any) -> None:
    evaluator = evaluator_of(pond, {"a": KEYED, "b": NEWEST, "c": KEYED})
    step(evaluator, [(1, 1, 1), (2, 1, 2)], 0, 5)
    held = [what for _, what in evaluator.held() if "partitioned" in what]
    assert held == ["partitioned window, 2 keys, shared"]
    assert len(list(evaluator.checkpoints())) == 1
    for name in ("a", "b"):
        evaluator.drop(name)
    assert len(list(evaluator.checkpoints())) == 1
    evaluator.drop("c")
    assert list(evaluator.checkpoints()) == []
    assert evaluator.inlets == {}
    evaluator.close()


def test_a_dropped_query_is_not_batched_any_more(pond: Any) -> None:
    evaluator = evaluator_of(pond, {f"q{i}": GROUPED.format(i) for i in range(3)})
    assert step(evaluator, [(1, 9, 1)], 0, 6).keys() == {"q0", "q1", "q2"}
    evaluator.drop("q1")
    assert step(evaluator, [(1, 9, 7)], 1, 11).keys() == {"q0", "q2"}
    evaluator.close()


def test_a_query_that_cannot_be_filled_leaves_nothing_behind(pond: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = evaluator_of(pond, {"q0": GROUPED.format(0)})
    bad = prepared(pond, GROUPED.format(1), "q1")

    def fill(self: Strategy) -> None:
        raise MemoryError

    monkeypatch.setattr(STRATEGIES[-1], "fill", fill)
    with pytest.raises(EngineError, match="not enough memory"):
        evaluator.add(bad, Progress(0, None))
    assert step(evaluator, [(1, 9, 1)], 0, 6).keys() == {"q0"}
    evaluator.close()


def test_what_runs_out_of_memory_stops_alone(pond: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = evaluator_of(pond, {"rows": PLAIN, "instants": GROUPED.format(1)})

    def advance(self: Strategy, begin: int, frontier: int) -> None:
        raise MemoryError

    monkeypatch.setattr(STRATEGIES[-1], "advance", advance)
    assert step(evaluator, [(1, 9, 1)], 0, 6).keys() == {"rows"}
    assert evaluator.strategies["instants"].error == "there is not enough memory for an evaluation"
    assert evaluator.strategies["rows"].error is None
    evaluator.close()


def test_parts_of_a_query_are_known_by_a_field(tmp_path: Path) -> None:
    """Not by their names, and no catalog file holds them."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE p (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k WITH (shards = 2)")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT v, COUNT(*) AS n FROM p [INTERVAL 5] GROUP BY v SAMPLE INTERVAL 5")
        db.append("p", [(1, 1, 1), (2, 1, 2)])
        db.advance("p", 6)
        db.tick()
        assert {row["holder"] for row in db.sql("SHOW STATE").arrow().to_pylist()} <= {"p", "q"}
        query = db._workspace.catalog.query("q")
        assert (query.part_of, query.combines, query.users_name) == (None, None, "q")
        whole = db._workspace.network.evaluator.strategies["q"].prepared.query
        assert whole.combines is not None
        assert "part_of" not in (tmp_path / "pond" / "catalog.json").read_text()
