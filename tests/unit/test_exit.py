"""A program that ends without closing its pond ends quietly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, millpond
db = millpond.connect(sys.argv[1])
db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
db.sql("CREATE CONTINUOUS QUERY q AS SELECT v FROM s [NOW] SAMPLE INTERVAL '1' SECOND")
db.create_function("twice", lambda x: 2 * x, arguments=["INT"], returns="INT")
db.on("q", lambda row: None)
db.append("s", [(1, 1), (2, 5)])
db.tick()
kept = [db, db.sql("SELECT twice(v) AS v FROM s")]
kept.append(kept)
if sys.argv[2] == "closed":
    db.close()
"""


@pytest.mark.parametrize("how", ["left open", "closed"])
def test_no_complaints_when_the_interpreter_ends(how: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "pond"), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
