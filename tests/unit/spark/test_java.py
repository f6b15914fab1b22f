"""Which Java is started, and what is said where there is none."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

import millpond
from millpond.spark import session


def test_a_query_tells_why_it_needs_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "running", lambda: False)
    monkeypatch.setattr(session, "_session", None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with millpond.connect(tmp_path / "pond") as db:
        db.sql("CREATE STREAMING TABLE clicks (visitor STRING, t BIGINT) TIMESTAMP BY t")
        with pytest.raises(millpond.JavaMissing) as told:
            db.sql("SELECT SUM(visitor) AS s FROM clicks")
    assert told.value.primary == "this query needs Spark, and Java 17 or newer was not found"
    assert told.value.detail is not None
    assert told.value.detail.startswith("Needed because: sum of STRING is only supported on Spark.")


def test_a_wrong_java_home_is_told_and_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with caplog.at_level(logging.WARNING), session._java_home_of("/usr/bin/java"):
        assert "JAVA_HOME" not in os.environ
    assert os.environ["JAVA_HOME"] == "/nowhere"
    assert "JAVA_HOME is set to /nowhere, where there is no working Java" in caplog.text


def test_a_right_java_home_stays(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("JAVA_HOME", "/here")
    with caplog.at_level(logging.WARNING), session._java_home_of("/here/bin/java"):
        assert os.environ["JAVA_HOME"] == "/here"
    assert not caplog.text
