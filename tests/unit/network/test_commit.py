"""A tick is committed as the definitions are at commit, not as they were when it was planned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millpond
from millpond.catalog import Catalog, ContinuousQuery
from millpond.event_time import Progress
from millpond.network.run.commit import EvaluatedTick, decide
from millpond.network.run.state import Seen, State
from millpond.network.run.steps import Step
from millpond.network.run.worker import run_task
from millpond.pond import Pond
from millpond.schema import Schema


def query(name: str, *reads: str, made: int = 0) -> ContinuousQuery:
    return ContinuousQuery(name, f"SELECT {name}", "rstream", None, Schema(()), f"{name}@1", reads, None, revision=made)


def catalog(*queries: ContinuousQuery) -> Catalog:
    return Catalog(queries={q.name: q for q in queries})


A, B, C = query("a", "t"), query("b", "t"), query("c", "a")
ROWS = pa.table({"x": [1, 2]})
DRAFT = State(4, {"a@1": Progress(5), "b@1": Progress(5), "c@1": Progress(5)}, {"a@1": 3}, {"t@1": Seen(10, 5)})


def evaluation(*steps: ContinuousQuery, failed: dict[str, str] | None = None) -> EvaluatedTick:
    return EvaluatedTick(
        {q.name: Step(q, q) for q in steps},
        {q.name: ROWS for q in steps},
        {q.folder: Progress(9, 8) for q in steps},
        failed or {},
        {"t@1": Seen(20, 9)},
    )


def test_a_tick_without_changes_is_committed_as_a_whole() -> None:
    made = decide(DRAFT, evaluation(A, B), catalog(A, B, C))
    assert made.discarded == frozenset()
    assert made.state == State(
        5,
        {"a@1": Progress(9, 8), "b@1": Progress(9, 8), "c@1": Progress(5)},
        {"a@1": 5, "b@1": 2},
        {"t@1": Seen(20, 9)},
    )
    assert [(name, batch.folder, batch.first) for name, batch in made.sent] == [("a", "a@1", 3), ("b", "b@1", 0)]


@pytest.mark.parametrize(
    "now",
    [
        catalog(A),
        catalog(A, replace(B, revision=1)),
        catalog(A, replace(B, paused=True)),
        catalog(A, replace(B, folder="b@7")),
    ],
    ids=["dropped", "altered", "paused", "made again"],
)
def test_results_of_a_query_that_changed_since_the_plan_are_discarded(now: Catalog) -> None:
    made = decide(DRAFT, evaluation(A, B, failed={"b@1": "bad"}), now)
    assert made.discarded == {"b"}
    assert [name for name, _ in made.sent] == ["a"]
    assert made.state.progress == {"a@1": Progress(9, 8), "b@1": Progress(5), "c@1": Progress(5)}
    assert made.state.failed == {}
    assert made.state.seen == {"t@1": Seen(20, 9)}  # the others have read it


def test_what_was_computed_from_a_discarded_result_is_discarded_too() -> None:
    made = decide(DRAFT, evaluation(A, B, C), catalog(replace(A, revision=1), B, C))
    assert made.discarded == {"a", "c"}
    assert [name for name, _ in made.sent] == ["b"]
    assert made.state.progress["c@1"] == Progress(5)


def test_the_rows_of_a_first_step_are_sent_to_nobody() -> None:
    partial = replace(A, name="first", folder="a@1.partial")
    whole = replace(A, reads=("first",))
    found = EvaluatedTick(
        {"first": Step(partial, A), "a": Step(whole, A)}, {"first": ROWS, "a": ROWS}, {}, {"a@1.partial": "bad"}, {}
    )
    made = decide(DRAFT, found, catalog(A))
    assert [name for name, _ in made.sent] == ["a"]
    assert made.state.failed == {"a@1.partial": "bad", "a@1": "bad"}  # of a query in two steps both stop
    assert decide(DRAFT, found, catalog(replace(A, revision=1))).discarded == {"first", "a"}


# -- in a pond ----------------------------------------------------------------------------------------------------------

QUERIES = {
    "fast": "SELECT vid, spd FROM p [NOW] WHERE spd > 20 SAMPLE REALTIME",
    "per_vehicle": "SELECT vid, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY vid SAMPLE INTERVAL 2",
    "segments": "SELECT seg, COUNT(*) AS n FROM p [INTERVAL 4] GROUP BY seg SAMPLE INTERVAL 2",
    "total": "SELECT COUNT(DISTINCT seg) AS n FROM p [INTERVAL 4] SAMPLE INTERVAL 2",
    "of_fast": "SELECT COUNT(*) AS n FROM fast [INTERVAL 4] SAMPLE INTERVAL 2",
}


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(
            "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)"
        )
        for name, text in QUERIES.items():
            pond.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text}")
        yield pond


def second(db: Pond, t: int) -> None:
    db.append("p", [(v, (7 * v + 11 * t) % 50, v + t // 3, t) for v in range(8)])
    db.advance("p", t + 1)


def rows(db: Pond, name: str) -> list[tuple[Any, ...]]:
    return sorted(row[:-1] for row in db.resume(name).fetch())


def change(db: Pond, when: str, statements: list[str], seconds: int = 9, at: int = 4) -> None:
    """Run ticks; in the middle of one, between its plan and its commit, change definitions."""
    for t in range(seconds):
        second(db, t)
        plan = db._workspace.network.plan()
        assert plan is not None
        if t == at and when == "planned":
            for statement in statements:
                db.sql(statement)
        db._workspace.network.finish(plan, [run_task(task) for task in plan.tasks])
        if t == at and when == "committed":
            for statement in statements:
                db.sql(statement)
    db.tick()


@pytest.mark.parametrize("victim", ["per_vehicle", "segments", "total"])
def test_a_query_dropped_between_plan_and_commit_sends_nothing_and_the_others_do(
    db: Pond, tmp_path: Path, victim: str
) -> None:
    change(db, "planned", [f"DROP CONTINUOUS QUERY {victim}"])
    assert victim not in db._workspace.network.outlets
    found = {name: rows(db, name) for name in QUERIES if name != victim}
    assert all(found.values())
    with millpond.connect(tmp_path / "other", auto_archive=False) as other:
        other.sql(
            "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)"
        )
        for name, text in QUERIES.items():
            other.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text}")
        change(other, "never", [])
        assert found == {name: rows(other, name) for name in found}


@pytest.mark.parametrize("altered", ["per_vehicle", "segments", "total", "of_fast"])
def test_a_query_altered_between_plan_and_commit_goes_on_where_it_was(db: Pond, tmp_path: Path, altered: str) -> None:
    """The tick under way counts for the new definition, from the last committed instant on."""
    alias = "fast" if altered == "of_fast" else "p"
    statement = f"ALTER CONTINUOUS QUERY {altered} SET WINDOW OF {alias} = [INTERVAL 2]"
    change(db, "planned", [statement])
    found = {name: rows(db, name) for name in QUERIES}
    with millpond.connect(tmp_path / "other", auto_archive=False) as other:
        other.sql(
            "CREATE STREAMING TABLE p (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2)"
        )
        for name, text in QUERIES.items():
            other.sql(f"CREATE CONTINUOUS QUERY {name} RANGE UNBOUNDED AS {text}")
        change(other, "committed", [statement], at=3)  # before the rows of that tick
        assert found == {name: rows(other, name) for name in QUERIES}


def test_a_query_altered_while_it_is_evaluated_takes_those_with_it_that_read_it(db: Pond) -> None:
    for t in range(9):
        second(db, t)
        plan = db._workspace.network.plan()
        assert plan is not None
        outcomes = [run_task(task) for task in plan.tasks]
        evaluation = db._workspace.network.evaluate(plan, outcomes)
        assert evaluation is not None
        before = db._workspace.network.state
        if t == 4:
            fast = db._workspace.catalog.queries["fast"]
            db._workspace.change_catalog(
                replace(
                    db._workspace.catalog, queries={**db._workspace.catalog.queries, "fast": replace(fast, revision=1)}
                )
            )
        db._workspace.network.commit(plan, evaluation)
        if t == 4:
            kept = {
                q.name: db._workspace.network.state.progress[q.folder] == before.progress[q.folder]
                for q in db._workspace.catalog.queries.values()
            }
            assert kept == {**dict.fromkeys(QUERIES, False), "fast": True, "of_fast": True}
    db.tick()
    expected = [(sum(1 for r in rows(db, "fast") if t - 4 <= r[-1] <= t), t) for t in range(0, 9, 2)]
    assert rows(db, "of_fast") == sorted(expected)


def test_a_query_made_between_plan_and_commit_misses_no_row(db: Pond) -> None:
    for name, text in QUERIES.items():
        db.sql(f"CREATE CONTINUOUS QUERY {name}_again RANGE UNBOUNDED AS {text}")
    new = [f"CREATE CONTINUOUS QUERY {name}_late RANGE UNBOUNDED AS {text}" for name, text in QUERIES.items()]
    change(db, "planned", new)
    for name in QUERIES:
        time = db.resume(name).fetch().columns.index("instant")
        late = rows(db, f"{name}_late")
        assert late
        begin = min(row[time] for row in late)
        assert late == [row for row in rows(db, name) if row[time] >= begin]
        assert rows(db, name) == rows(db, f"{name}_again")


def test_a_plan_made_before_the_network_started_over_is_not_committed(db: Pond) -> None:
    second(db, 0)
    plan = db._workspace.network.plan()
    assert plan is not None
    before = db._workspace.network.state
    db._workspace.network.start_over()
    assert db._workspace.network.finish(plan, [run_task(task) for task in plan.tasks]) == 0
    assert db._workspace.network.state is before
    db.tick()
    assert rows(db, "fast")


def test_planning_writes_nothing(db: Pond, tmp_path: Path) -> None:
    """Planning gave idle tables their heartbeats, and committed when no shard had anything to do."""
    db.sql("CREATE STREAMING TABLE q (x INT, t BIGINT) TIMESTAMP BY t")
    db.sql("CREATE CONTINUOUS QUERY both AS SELECT COUNT(*) AS n FROM p [NOW], q [NOW] SAMPLE INTERVAL 2")
    db.sql("ALTER STREAMING TABLE q SET IDLE")
    second(db, 0)
    db._workspace.network.plan()

    def sizes() -> dict[str, int]:
        return {str(p): p.stat().st_size for p in (tmp_path / "pond").rglob("*") if p.is_file()}

    before, state = sizes(), db._workspace.network.state
    assert db._workspace.network.plan() == db._workspace.network.plan()
    assert sizes() == before
    assert db._workspace.network.state is state
    assert db.now("q") is None
    db.tick()
    assert db.now("q") == 1
