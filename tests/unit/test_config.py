from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.config import Config, load_config
from millpond.errors import CatalogError


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Config.__dataclass_fields__:
        monkeypatch.delenv(f"MILLPOND_{name.upper()}", raising=False)


def test_defaults() -> None:
    assert load_config() == Config()


def test_texts_are_converted() -> None:
    config = load_config(block_rows="7", tick="200ms", auto_archive="false", block_age="5 minutes")
    assert (config.block_rows, config.tick, config.auto_archive) == (7, timedelta(milliseconds=200), False)
    assert config.block_age == timedelta(minutes=5)


def test_arguments_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLPOND_SHARDS", "3")
    monkeypatch.setenv("MILLPOND_BLOCK_ROWS", "9")
    assert (load_config().shards, load_config(shards=5).shards, load_config().block_rows) == (3, 5, 9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"blockrows": 5},
            'setting "blockrows" does not exist\nDetail: There is: {names}.\nHint: Did you mean "block_rows"?',
        ),
        ({"zz": 5}, 'setting "zz" does not exist\nDetail: There is: {names}.'),
        ({"block_rows": "many"}, 'setting block_rows cannot be "many"\nHint: It is a whole number.'),
        ({"auto_archive": "perhaps"}, 'setting auto_archive cannot be "perhaps"\nHint: It is true or false.'),
        ({"tick": "often"}, "setting tick cannot be \"often\"\nHint: It is a duration, such as '5 seconds'."),
        ({"block_rows": 0}, "setting block_rows must be at least 1, not 0"),
        ({"engine": "oracle"}, 'setting engine cannot be "oracle"\nHint: Use auto, duckdb or spark.'),
    ],
)
def test_messages(settings: dict[str, object], message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        load_config(**settings)
    assert str(caught.value) == message.format(names=", ".join(Config.__dataclass_fields__))


def test_settings_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"spark.executor.memory": "4g", "spark.ui.enabled": True, "spark.task.cpus": 1}
    wanted = (("spark.executor.memory", "4g"), ("spark.ui.enabled", "true"), ("spark.task.cpus", "1"))
    assert load_config(spark_conf=given).spark_conf == wanted
    monkeypatch.setenv("MILLPOND_SPARK_CONF", "spark.executor.memory=4g  spark.ui.enabled=true spark.task.cpus=1")
    assert load_config().spark_conf == wanted
    with pytest.raises(CatalogError, match=r'setting spark_conf cannot have "executor\.memory"'):
        load_config(spark_conf={"executor.memory": "4g"})
    with pytest.raises(CatalogError, match="Write name=value, with spaces between them"):
        load_config(spark_conf="spark.ui.enabled")
    with pytest.raises(CatalogError, match="It is a dict of names and values"):
        load_config(spark_conf=7)


def test_a_worker_is_waited_for_some_time() -> None:
    with pytest.raises(CatalogError, match="setting worker_wait cannot be 0:00:00"):
        load_config(worker_wait="0s")
