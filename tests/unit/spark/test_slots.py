"""Shifts hold slots, and leave some to others."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from millpond.errors import EngineError
from millpond.spark.slots import SHIFT_SLOTS, give_back, settings_of, take_anew, take_slots


def session(master: str, parallelism: int, shift: int | None = None) -> Any:
    conf = {} if shift is None else {SHIFT_SLOTS: str(shift)}
    context = SimpleNamespace(master=master, defaultParallelism=parallelism, getConf=lambda: conf)

    class Context(SimpleNamespace):
        __hash__ = object.__hash__

    return SimpleNamespace(sparkContext=Context(**vars(context)))


def local(cores: int) -> Any:
    settings = settings_of(f"local[{cores}]")
    return session(settings["spark.master"], cores, int(settings[SHIFT_SLOTS]))


def test_local_mode_has_more_slots_than_cores() -> None:
    assert settings_of("local[2]") == {
        "spark.master": "local[6,4]",
        "spark.default.parallelism": "2",
        SHIFT_SLOTS: "2",
        "spark.executor.heartbeat.maxFailures": str(2**31 - 1),
    }
    cores = os.cpu_count() or 1
    assert settings_of("local[*]")["spark.master"] == f"local[{2 * cores + 2},4]"
    assert settings_of("local[*, 9]")["spark.master"] == f"local[{2 * cores + 2},9]"
    assert settings_of("local")[SHIFT_SLOTS] == "1"


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host", "local-cluster[2,1,1024]"])
def test_a_cluster_is_what_it_is(master: str) -> None:
    assert set(settings_of(master)) == {
        "spark.executor.heartbeatInterval", "spark.storage.blockManagerHeartbeatTimeoutMs", "spark.network.timeoutInterval",
    }  # fmt: skip


def test_ponds_of_a_process_share_the_slots() -> None:
    spark = local(2)
    assert [take_slots(spark) for _ in range(3)] == [2, 2, 1]
    with pytest.raises(EngineError, match="Spark has no slot left for the pond's shifts: there are 6") as caught:
        take_slots(spark)
    assert "spark_master" in str(caught.value)
    give_back(spark, 2)
    assert take_slots(spark) == 2


def test_on_a_cluster_a_quarter_is_left() -> None:
    assert take_slots(session("spark://host:7077", 16)) == 12
    assert take_slots(session("spark://host:7077", 2)) == 1
    with pytest.raises(EngineError, match="there are 1, and one is kept for queries"):
        take_slots(session("spark://host:7077", 1))


def test_a_session_that_somebody_else_made() -> None:
    assert take_slots(session("local[4]", 4)) == 3


def test_executors_that_come_are_used_and_those_that_go_are_not_waited_for() -> None:
    spark = session("spark://host:7077", 2)
    first, second = take_slots(spark), 0
    assert first == 1
    spark.sparkContext.defaultParallelism = 16
    first = take_anew(spark, first)
    assert first == 12
    second = take_slots(spark)
    assert second == 3
    spark.sparkContext.defaultParallelism = 8
    assert take_anew(spark, first) == 4
    assert take_anew(spark, 4) == 4
    spark.sparkContext.defaultParallelism = 1
    assert take_anew(spark, 4) == 1
    steady = local(2)
    assert take_anew(steady, take_slots(steady)) == 2
