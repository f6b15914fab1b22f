"""The report says what the files of a run say; the figures are worked out again here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import millpond
from linear_road import plots
from linear_road.driver import Handed
from linear_road.report import write_report
from linear_road.run_record import load_by_minute, read_record
from tests.linear_road.canned import MINUTES, canned_run, toll_rows


def cells(text: str, first: str) -> list[str]:
    """The cells of the table row that begins with `first`."""
    row = re.search(rf"<tr[^>]*><td>{re.escape(first)}</td>(.*?)</tr>", text)
    assert row is not None, first
    return re.findall(r"<td[^>]*>(.*?)</td>", row.group(1))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_report(canned_run(tmp_path_factory.mktemp("report") / "run")).read_text()


def test_response_times_are_those_of_the_output(text: str) -> None:
    responses = np.array([response for minute in MINUTES for _, response in toll_rows(minute)])
    mean, p99, most = cells(text, "toll notifications")[1:4]
    assert float(mean) == pytest.approx(responses.mean(), abs=0.0006)
    assert float(p99) == pytest.approx(np.quantile(responses, 0.99, method="higher"), abs=0.0006)
    assert float(most) == pytest.approx(responses.max(), abs=0.0006)
    assert cells(text, "travel times")[1:6] == ["-", "-", "-", "0", "0"]


def test_by_minute_too(tmp_path: Path) -> None:
    record = read_record(canned_run(tmp_path / "run"))
    found = record.answers[0]
    assert found.minutes.tolist() == list(MINUTES)
    for place, minute in enumerate(MINUTES):
        responses = [response for _, response in toll_rows(minute)]
        assert found.counts[place] == len(responses)
        assert found.means[place] == pytest.approx(np.mean(responses), abs=1e-6)
        assert found.most[place] == pytest.approx(max(responses), abs=1e-6)


def test_it_is_one_file_of_whole_drawings(text: str) -> None:
    assert "http" not in text.replace("http://www.w3.org", "")
    assert "<script" not in text
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) == 5 + 1 + 4 + 4  # responses, load, cost, road
    for drawing in drawings:
        ElementTree.fromstring(drawing)


def test_the_verdict_is_told(tmp_path: Path, text: str) -> None:
    assert "<b>Valid</b><br>All 78 answers are right and in time." in text
    late = write_report(canned_run(tmp_path / "late", late=True)).read_text()
    assert "<b>Right, but not all in time</b><br>All 78 answers are right; 1 came later than the limit." in late
    assert cells(late, "balances")[3:6] == ["7.000", "6", "1"]
    none = write_report(canned_run(tmp_path / "none", verdict=False)).read_text()
    assert "<b>Not validated</b>" in none
    assert "unexpected" not in none


def test_wrong_answers_are_told(tmp_path: Path) -> None:
    folder = canned_run(tmp_path / "run")
    verdict = json.loads((folder / "verdict.json").read_text())
    verdict["correct"] = verdict["ok"] = False
    verdict["types"]["toll"]["wrong"] = 3
    (folder / "verdict.json").write_text(json.dumps(verdict))
    text = write_report(folder).read_text()
    assert "<b>Not valid</b>" in text
    assert cells(text, "toll notifications")[-1] == "3"


def test_a_run_is_called_no_rating_and_stands_beside_the_papers(text: str) -> None:
    assert cells(text, "this run (no rating)")[1] == "1"
    assert cells(text, "1.0") == ["2,031", "1", "1.09"]
    assert cells(text, "System X, a relational database")[1] == "0.5"
    assert cells(text, "Aurora")[1] == "2.5"


def test_at_speed_max_it_says_that_lateness_means_nothing(tmp_path: Path) -> None:
    text = write_report(canned_run(tmp_path / "run", speed="max")).read_text()
    assert "late answers say nothing here" in text
    assert "driver behind" not in text


def test_a_run_that_is_not_finished_has_a_report(tmp_path: Path) -> None:
    folder = canned_run(tmp_path / "run", verdict=False)
    for name in ("run.json", "meters.csv", "road.csv", "driver.csv"):
        (folder / name).unlink()
    assert "The run is not finished" in write_report(folder).read_text()
    (folder / "output.csv").write_text("")
    write_report(folder)


def test_accidents_and_tolls_of_the_road(tmp_path: Path) -> None:
    east, west = read_record(canned_run(tmp_path / "run")).strips
    assert east.accidents == []
    assert west.accidents == [(minute + 0.5, 55.5) for minute in MINUTES if minute > 65]
    assert east.toll[0, 50] == 5000
    assert west.toll[2, 56] == 0
    assert west.lav[0, 30] == 30


def test_there_must_be_a_run(tmp_path: Path) -> None:
    with pytest.raises(millpond.PondError, match="there is no run in"):
        write_report(tmp_path)


def test_a_file_of_several_seconds_counts_for_each_of_their_minutes() -> None:
    handed = [Handed(50, 69, 0.0, 0.0, 200), Handed(70, 70, 0.0, 0.0, 7)]
    minutes, tuples = load_by_minute(handed)
    assert minutes.tolist() == [0, 1]
    assert tuples.tolist() == pytest.approx([100, 107])


def test_a_rating_has_a_report_of_its_own(tmp_path: Path) -> None:
    def trial(xways: float, accepted: bool) -> dict[str, object]:
        answers = {
            str(k): {"answers": 9, "mean": 0.1 * xways, "p99": 0.2 * xways, "max": 0.3 * xways} for k in range(5)
        }
        ticks = {"count": 9, "median": 0.2, "p99": 0.4, "max": 0.5}
        return {"xways": xways, "accepted": accepted, "why": "" if accepted else "too late", "answers": answers,
                "ticks": ticks, "cores": 0.1 * xways, "memory_mb": 900.0, "one_time": {}, "reports": 1000,
                "seconds": 60.0, "folder": f"L{xways:g}"}  # fmt: skip

    rating = {
        "rating": 8.0, "minutes": {"replayed": [160, 170], "real_time": [170, 180]}, "history_days": 70,
        "one_time_queries_a_minute": 0, "machine": {"cores": 2, "memory": 25e9, "python": "3.11"},
        "trials": [trial(8, True), trial(16, False), trial(4, True)],
    }  # fmt: skip
    (tmp_path / "rating.json").write_text(json.dumps(rating))
    text = write_report(tmp_path).read_text()
    assert "<h1>Linear Road: L-rating 8</h1>" in text
    assert cells(text, "16")[:4] == ["too late", "1.60", "3.20", "4.80"]
    assert cells(text, "millpond (this rating)")[1] == "8"
    assert len(re.findall("<svg", text)) == 5


def test_a_line_is_broken_where_there_is_no_value() -> None:
    x, y = np.arange(6.0), np.array([1, 2, np.nan, 3, np.nan, 5])
    drawn = plots.lines("t", plots.axis_over("", x), plots.axis_over("", y, low=0), [plots.Series("", x, y, "s0")])
    assert len(re.findall("<polyline", drawn)) == 1
    assert len(re.findall("<circle", drawn)) == 2


@pytest.mark.parametrize("values", [[], [np.nan], [0.0], [3.0, 3.0]], ids=["none", "unknown", "zero", "equal"])
def test_an_axis_has_a_length_whatever_there_is(values: list[float]) -> None:
    axis = plots.axis_over("s", np.array(values), low=0.0)
    assert axis.high > axis.low
    assert axis.ticks()
