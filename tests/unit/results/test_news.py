"""A process that reads a pond learns at once of results, and is not woken for nothing."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from millpond.results import news as news_module
from millpond.results.news import News, ring

SOON = 20.0


@pytest.fixture(params=["watched", "looked at"])
def news(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> News:
    if request.param == "looked at":
        monkeypatch.setattr(news_module, "_watch", lambda _: None)
    return News(tmp_path)


def test_who_waits_is_woken(news: News, tmp_path: Path) -> None:
    news.clear()
    threading.Timer(0.1, ring, (tmp_path,)).start()
    begin = time.monotonic()
    news.wait(SOON)
    assert time.monotonic() - begin < SOON


def test_what_came_between_looking_and_waiting_is_not_missed(news: News, tmp_path: Path) -> None:
    news.clear()
    ring(tmp_path)
    begin = time.monotonic()
    news.wait(SOON)
    assert time.monotonic() - begin < SOON
    news.clear()
    begin = time.monotonic()
    news.wait(0.1)
    assert time.monotonic() - begin > 0.05


def test_a_file_that_is_being_written_is_no_news(news: News, tmp_path: Path) -> None:
    path = tmp_path / "1.results"
    path.write_bytes(b"")
    news.clear()
    threading.Timer(0.02, path.write_bytes, (b"not durable yet",)).start()
    begin = time.monotonic()
    news.wait(0.2)
    assert time.monotonic() - begin > 0.15


def test_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    news = News(folder)
    news.clear()
    threading.Timer(0.1, folder.mkdir).start()
    begin = time.monotonic()
    news.wait(SOON)
    assert time.monotonic() - begin < SOON
    news.clear()
    threading.Timer(0.1, ring, (folder,)).start()
    news.wait(SOON)
    assert time.monotonic() - begin < SOON
    news.close()
    news.close()
