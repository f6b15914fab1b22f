"""The `millpond linearroad` commands: what they refuse and how they say it, and one run from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from linear_road import traffic
from linear_road.validator import expect
from millpond.cli import with_applications
from tests.linear_road.canned import canned_run

ROW = "0,{t},1,50,0,1,0,5,27000,-1,-1,-1,-1,-1,-1\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(with_applications(), ["linearroad", *map(str, arguments)])


@pytest.fixture
def input(tmp_path: Path) -> Path:
    path = tmp_path / "input.csv"
    path.write_text(ROW.format(t=0) + ROW.format(t=30))
    return path


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from millpond.cli import with_applications\napp = with_applications()\n"
        "for a in ([], ['linearroad'], ['linearroad', 'run']): assert CliRunner().invoke(app, [*a, '--help']).exit_code == 0\n"
        "print([m for m in ('pyspark', 'linear_road.run', 'linear_road.report', 'linear_road.generate') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("command", ["generate", "run", "validate"])
def test_help_has_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: millpond linearroad {command}" in result.stdout


def test_generate_makes_three_files_and_says_what_next(tmp_path: Path) -> None:
    out = tmp_path / "lr"
    result = run("generate", "--xways", 0.5, "--minutes", 1, "--seed", 7, "--days", 1, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in out.iterdir()) == ["input.csv", "segments.csv", "tolls.csv"]
    expected = sum(b.num_rows for b in traffic.simulate(traffic.TrafficConfig(xways=0.5, minutes=1, seed=7)))
    assert len((out / "input.csv").read_text().splitlines()) == expected
    assert f"run --input {out}/input.csv --tolls {out}/tolls.csv --segments {out}/segments.csv" in result.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--xways", "0.7"], "error: xways 0.7 is not a number of half expressways; give 0.5, 1, 1.5, ..."),
        (["--minutes", "200"], "error: minutes 0 to 200 are not within a run of 180 minutes"),
    ],
    ids=["xways", "minutes"],
)
def test_what_cannot_be_generated(tmp_path: Path, options: list[str], says: str) -> None:
    result = run("generate", "--out", tmp_path / "lr", *options)
    assert result.exit_code == 1
    assert result.stderr.strip() == says


def test_a_missing_file_is_told_with_its_option(tmp_path: Path, input: Path) -> None:
    result = run("run", "--input", tmp_path / "none.csv", "--out", tmp_path / "run")
    assert (result.exit_code, result.stderr) == (
        1,
        f'error: the file "{tmp_path}/none.csv" of --input does not exist\n',
    )
    result = run("run", "--input", input, "--tolls", tmp_path, "--out", tmp_path / "run")
    assert (result.exit_code, result.stderr) == (1, f'error: the file "{tmp_path}" of --tolls is a folder\n')
    result = run("validate", "--input", input, "--output", tmp_path / "none.csv")
    assert (result.exit_code, result.stderr) == (
        1,
        f'error: the file "{tmp_path}/none.csv" of --output does not exist\n',
    )


@pytest.mark.parametrize("speed", ["fast", "0", "-1", "inf", "nan", ""])
def test_a_speed_that_is_none(tmp_path: Path, input: Path, speed: str) -> None:
    result = run("run", "--input", input, "--out", tmp_path / "run", "--speed", speed)
    assert result.exit_code == 1
    assert f'--speed "{speed}" is no speed' in result.stderr
    assert not (tmp_path / "run").exists()


def test_an_input_that_cannot_be_run_leaves_no_folder(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text(ROW.format(t=30) + ROW.format(t=0))
    result = run("run", "--input", bad, "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert (
        "is not in the order of Time\nDetail: Row 2 has Time 0, the row before it 30.\nHint: Sort it" in result.stderr
    )
    assert not (tmp_path / "run").exists()


def test_a_folder_with_other_files_is_refused(tmp_path: Path, input: Path) -> None:
    result = run("run", "--input", input, "--out", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f'error: the folder "{tmp_path}" is not empty\n')


def test_a_finished_run_says_so(tmp_path: Path) -> None:
    folder = canned_run(tmp_path / "run1")
    begun = json.loads((folder / "begun.json").read_text())
    input = tmp_path / "input.csv"
    input.write_text(ROW.format(t=0))
    (folder / "begun.json").write_text(json.dumps({**begun, "input": str(input)}))
    result = run("run", "--input", input, "--out", folder)
    assert result.exit_code == 0
    assert "this run is finished" in result.stdout
    other = run("run", "--input", input, "--out", folder, "--today", 3)
    assert other.exit_code == 1
    assert "was begun with another --today\nDetail: It was 1, now it is 3." in other.stderr


def test_a_verdict_is_the_exit_code(tmp_path: Path, input: Path) -> None:
    output = tmp_path / "output.csv"
    output.write_text("0,1,0,0.500,0,0\n")
    good = run("validate", "--input", input, "--output", output)
    assert good.exit_code == 0, good.stdout
    assert "Valid: the 1 answer to an input of 2 reports is right and in time." in good.stdout
    output.write_text("0,1,0,9.000,0,0\n")
    assert run("validate", "--input", input, "--output", output).exit_code == 1
    assert run("validate", "--input", input, "--output", output, "--late-ok").exit_code == 0
    output.write_text("")
    assert run("validate", "--input", input, "--output", output, "--late-ok").exit_code == 1
    assert not (tmp_path / "verdict.json").exists(), "the folder is not that of a run"


def test_a_report_needs_a_run(tmp_path: Path) -> None:
    result = run("report", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f'error: there is no run in "{tmp_path}"\n')
    folder = canned_run(tmp_path / "run1")
    assert run("report", folder).stdout.strip() == str(folder / "report.html")


@pytest.fixture(scope="module")
def stopped() -> Iterator[None]:
    """The session ends with the tests of this file."""
    yield
    from millpond.spark.session import stop_session

    stop_session()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.usefixtures("stopped")
def test_from_end_to_end(tmp_path: Path) -> None:
    lr, out = tmp_path / "lr", tmp_path / "run1"
    made = run("generate", "--xways", 0.5, "--minutes", 2, "--seed", 7, "--days", 1, "--out", lr)
    assert made.exit_code == 0, made.stderr
    given = ["--input", lr / "input.csv", "--tolls", lr / "tolls.csv", "--segments", lr / "segments.csv"]
    ran = run("run", *given, "--out", out, "--speed", "max")
    assert ran.exit_code == 0, ran.stderr
    assert "0.5 expressways, seconds 0 to 119" in ran.stdout

    again = run("run", *given, "--out", out, "--speed", "max")
    assert again.exit_code == 0
    assert "this run is finished" in again.stdout

    judged = run("validate", "--input", lr / "input.csv", "--output", out, "--late-ok")
    assert judged.exit_code == 0, judged.stdout
    expected = expect(lr / "input.csv", tolls=lr / "tolls.csv", segments=lr / "segments.csv")
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["types"]["toll"]["right"] == len(expected.notifications.vid) > 500

    told = run("report", out)
    assert told.exit_code == 0
    report = Path(told.stdout.strip()).read_text()
    assert "Linear Road, L = 0.5" in report
    assert "Not valid" not in report

    (out / "output.csv").write_text("\n".join((out / "output.csv").read_text().splitlines()[1:]) + "\n")
    missing = run("validate", "--input", lr / "input.csv", "--output", out, "--late-ok")
    assert missing.exit_code == 1
