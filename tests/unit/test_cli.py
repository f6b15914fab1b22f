"""The `millpond` command: what it prints, to where, and its exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import millpond
from millpond import MillpondError
from millpond.cli import _watch, add_commands, app, status_line, trigger_lines, with_applications

CREATE = "CREATE STREAMING TABLE r (vid INT, name STRING, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 1"


@pytest.fixture
def pond(tmp_path: Path) -> str:
    place = tmp_path / "pond"
    with millpond.connect(place, auto_archive=False) as db:
        db.sql(CREATE)
        db.append("r", [(1, "a,b", 1), (2, None, 2)])
    return str(place)


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


def test_an_error_in_a_file_is_shown_at_its_line(pond: str, tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text("-- a comment\nSHOW TABLES; SELECT 1;\n\nSELECT 'é',\n  nam FROM r;\n")
    result = run("sql", "--pond", pond, "--file", str(script))
    assert result.exit_code == 1
    assert "line 5:   nam FROM r;\n          ^^^\n" in result.stderr


def test_a_table(pond: str) -> None:
    result = run("sql", "--pond", pond, "SELECT vid, name FROM r ORDER BY vid")
    assert result.stdout == " vid | name\n-----+------\n   1 | a,b\n   2 | NULL\n(2 rows)\n"
    assert result.exit_code == 0


def test_csv(pond: str) -> None:
    result = run("sql", "--pond", pond, "--format", "csv", "SELECT vid, name FROM r ORDER BY vid")
    assert result.stdout == 'vid,name\n1,"a,b"\n2,\n'


def test_json(pond: str) -> None:
    result = run(
        "sql", "--pond", pond, "--format", "json", "SELECT vid, name, DATE '2026-01-02' AS d FROM r ORDER BY vid"
    )
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"vid": 1, "name": "a,b", "d": "2026-01-02"},
        {"vid": 2, "name": None, "d": "2026-01-02"},
    ]


def test_several_statements_and_messages(tmp_path: Path) -> None:
    pond = str(tmp_path / "new")
    result = run("sql", "--pond", pond, f"{CREATE}; INSERT INTO r VALUES (1, 'x', 5); SELECT count(*) AS n FROM r")
    assert result.stdout == 'streaming table "r" created\n1 row inserted\n n\n---\n 1\n(1 row)\n'
    assert run("sql", "--pond", pond, "--format", "csv", "INSERT INTO r VALUES (2, 'y', 6)").stdout == ""
    assert run("sql", "--pond", pond, "--format", "csv", "SELECT count(*) AS n FROM r").stdout == "n\n2\n"


def test_standard_input_and_files(pond: str, tmp_path: Path) -> None:
    assert run("sql", "--pond", pond, "--format", "csv", text="SELECT max(vid) AS m FROM r;").stdout == "m\n2\n"
    script = tmp_path / "q.sql"
    script.write_text("SELECT min(vid) AS m\nFROM r -- the least\n;")
    assert run("sql", "--pond", pond, "--format", "csv", "--file", str(script)).stdout == "m\n1\n"


def test_an_error_in_sql(pond: str) -> None:
    result = run("sql", "--pond", pond, "SELECT nam FROM r")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        'error: column "nam" does not exist in table "r"\nline 1: SELECT nam FROM r\n               ^^^\n'
        'Hint: Did you mean "name"?\n'
    )


def test_the_place_of_an_error_in_the_second_statement(pond: str) -> None:
    result = run("sql", "--pond", pond, "SELECT vid FROM r; SELECT nam FROM r")
    assert result.exit_code == 1
    assert f"line 1: SELECT vid FROM r; SELECT nam FROM r\n{' ' * 34}^^^\n" in result.stderr
    syntax = run("sql", "--pond", pond, "SELECT vid FROM r;\nSELEC nam FROM r")
    assert syntax.stderr.splitlines()[1:3] == ["line 2: SELEC nam FROM r", "        ^^^^^"]
    assert syntax.stdout == ""


def test_no_pond(tmp_path: Path) -> None:
    for command in (
        ["sql", "--pond", str(tmp_path / "none"), "SELECT 1"],
        ["status", "--pond", str(tmp_path / "none")],
    ):
        result = run(*command)
        assert result.exit_code == 1
        assert result.stderr.startswith(f'error: there is no pond at "{tmp_path / "none"}"')
    assert not (tmp_path / "none").exists()


def test_a_wrong_call(pond: str, tmp_path: Path) -> None:
    assert run("sql", "SELECT 1").exit_code == 2
    assert run("sql", "--pond", pond, "--format", "xml", "SELECT 1").exit_code == 2
    assert run("sql", "--pond", pond, "--file", "x.sql", "SELECT 1").exit_code == 2
    missing = run("sql", "--pond", pond, "--file", str(tmp_path / "x.sql"))
    assert missing.exit_code == 2
    assert run("nonsense").exit_code == 2


def test_status(pond: str) -> None:
    shown = run("status", "--pond", pond)
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[:2] == [f"pond {Path(pond).resolve()}", "Nobody writes it now."]
    assert " r    | streaming table |    2 | 1         | forever | 1 second |        0" in shown.stdout
    table = run("status", "--pond", pond, "--format", "csv").stdout
    assert table == "name,kind,rows,watermark,range,lateness,rejected\nr,streaming table,2,1,forever,1 second,0\n"
    state = json.loads(run("status", "--pond", pond, "--format", "json").stdout)
    assert state["tables"]["r"]["rows"] == 2
    assert state["written"] is False


def test_status_tells_queries_that_do_not_run(pond: str) -> None:
    with millpond.connect(pond, auto_archive=False) as db:
        for name in ("good", "halted"):
            db.sql(f"CREATE CONTINUOUS QUERY {name} AS SELECT t FROM r [NOW] SAMPLE REALTIME")
        db.sql("CREATE CONTINUOUS QUERY bad AS SELECT 1 / (t - t) AS x FROM r [NOW] SAMPLE REALTIME")
        db.sql("PAUSE CONTINUOUS QUERY halted")
        db.sql("INSERT INTO r VALUES (3, 'c', 10)")
        db.advance("r", 12)
        db.tick()
        with pytest.raises(TypeError, match="'x' is not a position in the results of a query"):
            db.resume("good", after="x")  # type: ignore[arg-type]
    assert run("status", "--pond", pond).stdout.splitlines()[-3:] == [
        "3 continuous queries (1 in trouble), 3 results sent",
        'query "halted": paused',
        'query "bad": the query failed: division by zero',
    ]


def test_status_names_the_writer(pond: str) -> None:
    with millpond.connect(pond, auto_archive=False) as db:
        db.advance("r", 9)
        assert "holds it:" in run("status", "--pond", pond).stdout
        assert run("sql", "--pond", pond, "SELECT count(*) FROM r").exit_code == 0
        refused = run("sql", "--pond", pond, "INSERT INTO r VALUES (3, 'c', 10)")
        assert refused.exit_code == 1
        assert refused.stderr.startswith('error: pond "pond" is being written by another Pond object of this process\n')


def test_the_live_line() -> None:
    table = {"rows": 1500, "tail_rows": 20, "archived_files": 3, "archived_bytes": 2_500_000, "rejected": 3}
    state = {
        "tables": {"r": table},
        "queries": {"a": {"sent": 1200, "problem": None}, "b": {"sent": 34, "problem": "no"}},
        "pipeline": None,
    }
    assert status_line(state, 1234.5) == (
        "     1,234 rows/s | 1,500 rows, 20 in the tail | 3 files, 2.5 MB | 3 rejected | "
        "2 continuous queries (1 in trouble), 1,234 results sent | no pipeline"
    )
    state["pipeline"] = {"ticks": 7, "state": "running"}
    assert status_line(state, 0).endswith("| 7 ticks")
    state["pipeline"] = {"ticks": 0, "state": "running"}
    assert status_line(state, 0).endswith("| nothing to archive yet")
    state["pipeline"] = {"ticks": 0, "state": "starting"}
    assert status_line(state, 0).endswith("| starting Spark")


def test_help_needs_no_pond() -> None:
    result = CliRunner().invoke(with_applications(), ["--help"])
    assert result.exit_code == 0
    assert all(command in result.stdout for command in ("sql", "run", "status", "demo"))
    assert "..." not in result.stdout.partition("Commands:")[2], "a summary is cut"


def test_the_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"millpond {millpond.__version__}\n")


def test_a_feed_made_from_the_shell_says_how_to_run_it(pond: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    made = run(
        "sql", "--pond", pond,
        f"CREATE SOURCE s (vid INT, name STRING, t BIGINT) FROM FILES '{tmp_path / 'in'}'; INSERT INTO r SELECT * FROM s",
    )  # fmt: skip
    assert made.stdout == (
        'source "s" created\nfeed "r_from_s" created: rows of "s" flow into "r"\n'
        f"This command ends now: start `millpond run --pond {pond}` to let them flow.\n"
    )
    assert 'feed "r_from_s": stopped\n' in run("status", "--pond", pond).stdout
    feeds = json.loads(run("status", "--pond", pond, "--format", "json").stdout)["feeds"]
    assert feeds["r_from_s"]["state"] == "stopped"


def test_who_waits_for_spark_is_told(pond: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without starting it: the start fails right after it is announced."""
    from millpond.spark import session

    def fail(*_: object) -> bool:
        raise RuntimeError("no room")

    monkeypatch.setattr(session, "_session", None)
    monkeypatch.setattr(session, "find_java", lambda: "java")
    monkeypatch.delenv("JAVA_HOME", raising=False)  # it would be told that it is not this Java's
    monkeypatch.setattr(session.jvm, "launch", fail)
    result = run("sql", "--pond", pond, "SELECT soundex('a') AS s")
    assert result.stderr.splitlines()[:2] == [
        "starting Spark, because function soundex is only supported on Spark; some seconds to a minute",
        "error: Spark could not be started",
    ]
    assert result.exit_code == 1


def test_that_the_pipeline_stopped_is_told_once(pond: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem of a pipeline is a whole message, with detail and hint of its own."""

    class NoWait(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return False

    with millpond.connect(pond, auto_archive=False) as db:
        status = db.status()
        problem = str(MillpondError("no Java", detail="It is needed.", hint="Install it."))
        stopped = {**status, "pipeline": {"state": "stopped", "ticks": 0, "problem": problem}}
        monkeypatch.setattr(db, "status", lambda: stopped)
        with pytest.raises(MillpondError) as caught:
            _watch(db, NoWait(), None)
    assert str(caught.value) == "the pipeline stopped: no Java\nDetail: It is needed.\nHint: Install it."


# -- subscribe ------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(pond: str) -> str:
    """The pond with a continuous query that has sent five results."""
    with millpond.connect(pond, auto_archive=False) as db:
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT vid, name FROM r [NOW] SAMPLE REALTIME")
        db.append("r", [(3, "c", 3), (4, None, 4), (5, "e,f", 5)])
        db.advance("r", 6)
        db.tick()
    return pond


def test_subscribe_once(asked: str) -> None:
    result = run("subscribe", "q", "--pond", asked, "--once")
    assert result.exit_code == 0
    shown = result.stdout.splitlines()
    assert shown[0] == " vid | name | instant | _seq"
    assert shown[-2:] == ["   5 | e,f  |       5 |    4", "(5 rows)"]
    assert result.stderr == "go on with --after 4\n"
    again = run("subscribe", "q", "--pond", asked, "--once", "--after", "4", "--format", "csv")
    assert (again.stdout, again.stderr, again.exit_code) == ("", "go on with --after 4\n", 0)


def test_subscribe_formats(asked: str) -> None:
    table = run("subscribe", "q", "--pond", asked, "--once", "--format", "csv", "--after", "2").stdout
    assert table == 'vid,name,instant,_seq\n4,,4,3\n5,"e,f",5,4\n'
    lines = run("subscribe", "q", "--pond", asked, "--once", "--format", "json", "--since", "5").stdout
    assert lines == '{"vid": 5, "name": "e,f", "instant": 5, "_seq": 4}\n'


def test_subscribe_shows_all_rows_of_a_long_table(pond: str) -> None:
    with millpond.connect(pond, auto_archive=False) as db:
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT vid FROM r [NOW] SAMPLE REALTIME")
        db.append("r", [(i, None, i) for i in range(10, 110)])
        db.advance("r", 110)
        db.tick()
    shown = run("subscribe", "q", "--pond", pond, "--once", "--since", "10").stdout
    assert [
        line.split(" | ")[0].strip() for line in shown.splitlines() if line.count(" | ") == 2 and "_seq" not in line
    ] == [str(i) for i in range(10, 110)]
    assert "not shown" not in shown


@contextmanager
def started(pond: str, format: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A subscriber in a process of its own."""
    command = [sys.executable, "-m", "millpond", "subscribe", "q", "--pond", pond, "--format", format, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_subscribe_follows_another_process(asked: str) -> None:
    with millpond.connect(asked, auto_archive=False) as db, started(asked, "json", "--after", "3") as process:
        db._workspace.own()
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["vid"] == 5
        db.append("r", [(7, "g", 7)])
        db.advance("r", 8)
        db.tick()
        assert json.loads(process.stdout.readline()) == {"vid": 7, "name": "g", "instant": 7, "_seq": 5}
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
        assert process.stderr.read().splitlines()[-1] == "go on with --after 5"
        assert process.wait(30) == 0


def test_subscribe_begins_with_the_next_result(asked: str) -> None:
    with started(asked, "csv") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = "nobody writes this pond now; results appear once somebody does (millpond run)\n"
        assert process.stderr.readline() == told
        with millpond.connect(asked, auto_archive=False) as db:
            db.append("r", [(7, "g", 7)])
            db.advance("r", 8)
            db.tick()
        assert process.stdout.readline() == "vid,name,instant,_seq\n"
        assert process.stdout.readline() == "7,g,7,5\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_wrong_subscriptions(asked: str) -> None:
    missing = run("subscribe", "nn", "--pond", asked, "--once")
    assert missing.exit_code == 1
    assert missing.stderr == 'error: continuous query "nn" does not exist\nDetail: There is: q.\n'
    table = run("subscribe", "r", "--pond", asked)
    assert (table.exit_code, table.stderr) == (1, 'error: "r" is a streaming table, not a continuous query\n')
    time = run("subscribe", "q", "--pond", asked, "--since", "noon")
    assert time.exit_code == 1
    assert time.stderr.startswith("error: 'noon' is not a time of table \"q\"\n")
    assert run("subscribe", "q", "--pond", asked, "--since", "1", "--after", "1").exit_code == 2


def test_status_counts_queries(asked: str) -> None:
    assert run("status", "--pond", asked).stdout.splitlines()[-1] == "1 continuous query, 5 results sent"
    queries = json.loads(run("status", "--pond", asked, "--format", "json").stdout)["queries"]
    assert list(queries) == ["q"]
    shown = {name: queries["q"][name] for name in ("sent", "state", "problem", "frontier")}
    assert shown == {"sent": 5, "state": "running", "problem": None, "frontier": "6"}


def test_status_tells_what_is_wrong_with_triggers(asked: str) -> None:
    state = {"triggers": [{"query": "q", "target": "http://h/", "problem": "it rains", "missed": 3}]}
    assert trigger_lines(state) == [
        'trigger of "q" to http://h/ fails and is tried again: it rains',
        'trigger of "q" to http://h/ missed results that are no longer kept; see SHOW TRIGGERS',
    ]


def test_a_byte_order_mark_is_no_statement(pond: str, tmp_path: Path) -> None:
    script = tmp_path / "bom.sql"
    script.write_bytes(b"\xef\xbb\xbfSELECT 1 AS one")
    assert run("sql", "--pond", pond, "-f", str(script)).exit_code == 0
    assert run("sql", "--pond", pond, text="\ufeffSELECT 1 AS one").exit_code == 0


def test_json_keeps_columns_of_one_name(pond: str) -> None:
    result = run("sql", "--pond", pond, "--format", "json", "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a")
    assert json.loads(result.stdout) == {"a": 1, "a_3": 2, "a_2": 3, "a_4": 4}


@pytest.mark.parametrize(
    ("redirection", "code", "told"),
    [("<&-", 2, "standard input is closed"), ("'SELECT 1' >/dev/full", 1, "error: the output cannot be written")],
)
def test_streams_that_cannot_be_used(pond: str, redirection: str, code: int, told: str) -> None:
    command = f"'{sys.executable}' -m millpond sql --pond '{pond}' {redirection}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_commands_of_applications_are_added_and_broken_ones_reported(capsys: pytest.CaptureFixture[str]) -> None:
    host = typer.Typer()
    host.command(name="sql")(lambda: None)
    points = [
        EntryPoint("gone", "no_such_module:app", "millpond.commands"),
        EntryPoint("demo", "linear_road.demo_command:demo", "millpond.commands"),
        EntryPoint("linearroad", "linear_road.cli:app", "millpond.commands"),
        EntryPoint("sql", "linear_road.cli:app", "millpond.commands"),
    ]
    add_commands(host, points)
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "warning: command \"gone\" cannot be loaded from no_such_module:app: No module named 'no_such_module'",
        'warning: command "sql" of linear_road.cli:app is left out: the name is taken',
    ]
    shown = CliRunner().invoke(host, ["--help"]).stdout
    assert "demo" in shown
    assert "linearroad" in shown
    assert "Linear Road, small and live" in CliRunner().invoke(host, ["demo", "--help"]).stdout
