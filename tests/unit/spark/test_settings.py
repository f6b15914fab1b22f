"""The settings that Spark is started with: ours, those of its user, and where it listens."""

from __future__ import annotations

import pytest

from millpond.errors import CatalogError
from millpond.spark.session import _settings


def test_local_mode_is_not_reachable_from_outside() -> None:
    found = _settings("local[*]", "1g", {}, "", "")
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.1")


def test_a_cluster_reaches_the_address_it_is_told() -> None:
    found = _settings("spark://host:7077", "1g", {}, "10.0.0.7", "0.0.0.0")
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == ("10.0.0.7", "0.0.0.0")
    found = _settings("spark://host:7077", "1g", {}, "10.0.0.7", "")
    assert found["spark.driver.bindAddress"] == "10.0.0.7"
    assert "spark.driver.host" not in _settings("spark://host:7077", "1g", {}, "", ""), "Spark finds it"


def test_a_setting_of_the_user_goes_before_ours() -> None:
    assert _settings("local[2]", "1g", {"spark.ui.enabled": "true"}, "", "")["spark.ui.enabled"] == "true"


def test_settings_on_which_answers_depend_stay() -> None:
    with pytest.raises(CatalogError, match=r'setting spark_conf cannot have "spark\.sql\.ansi\.enabled"'):
        _settings("local[2]", "1g", {"spark.sql.ansi.enabled": "false"}, "", "")
