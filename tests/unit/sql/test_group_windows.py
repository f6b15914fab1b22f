"""How group windows are written, and what is meant."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlglot import exp

from millpond.errors import SqlError
from millpond.sql.dialect import read_tree, tokenize
from millpond.sql.group_windows import GROUP_TABLE, GroupWindow, grouped_by, names_group_windows, read_length


def seconds(*counts: float) -> list[timedelta]:
    return [timedelta(seconds=n) for n in counts]


def read(sql: str) -> exp.Select:
    tree = read_tree(sql, tokenize(sql))
    assert isinstance(tree, exp.Select)
    return tree


TUMBLE = GroupWindow("tumble", *seconds(10, 10))
HOP = GroupWindow("hop", *seconds(10, 5))


@pytest.mark.parametrize(
    ("call", "window"),
    [
        ("window(t, '10 seconds')", TUMBLE),
        ("window(t, '10 seconds', '10 seconds')", TUMBLE),
        ("WINDOW(t, INTERVAL '10' SECOND)", TUMBLE),
        ("window(t, '10 seconds', '5 seconds')", HOP),
        ("window(t, '10 seconds', '5 seconds', '-2 seconds')", GroupWindow("hop", *seconds(10, 5, -2))),
        ("session_window(t, '1 minute 30 seconds')", GroupWindow("session", *seconds(90, 90))),
        ("tumble(t, INTERVAL '10' SECOND)", TUMBLE),
        ("HOP(t, INTERVAL '5' SECOND, INTERVAL '10' SECOND)", HOP),
        ("SESSION(t, INTERVAL '5' MINUTE)", GroupWindow("session", *seconds(300, 300))),
    ],
)
def test_calls(call: str, window: GroupWindow) -> None:
    for sql in (f"SELECT COUNT(*) FROM s GROUP BY {call}", f"SELECT COUNT(*) FROM s GROUP BY k, {call} HAVING a > 1"):
        found = grouped_by(read(sql), sql)
        assert found is not None
        assert found.window == window
        assert found.time == exp.column("t")


@pytest.mark.parametrize(
    ("source", "window", "keys"),
    [
        ("TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '10' SECOND)", TUMBLE, ()),
        ("TABLE(TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '10' SECONDS))", TUMBLE, ()),
        ("tumble(s, t, INTERVAL '10 seconds')", TUMBLE, ()),
        ("HOP(TABLE s, DESCRIPTOR(t), INTERVAL '5' SECOND, INTERVAL '10' SECOND)", HOP, ()),
        (
            "SESSION(TABLE s PARTITION BY (a, b), DESCRIPTOR(t), INTERVAL '1' SECOND)",
            GroupWindow("session", *seconds(1, 1)),
            ("a", "b"),
        ),
        (
            "SESSION(TABLE s PARTITION BY a, b, DESCRIPTOR(t), GAP => INTERVAL '1' SECOND)",
            GroupWindow("session", *seconds(1, 1)),
            ("a", "b"),
        ),
    ],
)
def test_table_functions(source: str, window: GroupWindow, keys: tuple[str, ...]) -> None:
    for alias in ("", " w", " AS w JOIN n ON w.k = n.k"):
        sql = f"SELECT 1 FROM {source}{alias} WHERE TRUE"
        table = read(sql).args["from_"].this
        meant = table.meta[GROUP_TABLE]
        assert (table.name, meant.window, meant.time, meant.keys) == ("s", window, "t", keys)
        assert sql[meant.place.start : meant.place.end] == source


def test_every_mention_is_found() -> None:
    sql = (
        "SELECT window.start, window(t, '1 second').end, window_time(window), window FROM s "
        "GROUP BY window(t, '1 second') HAVING window.end > 3 ORDER BY window"
    )
    found = grouped_by(read(sql), sql)
    assert found is not None
    shown = ["start", "end", "time", "window", "window", "end", "window"]
    assert [m.shown for m in found.mentions] == shown
    assert [m.name for m in found.mentions[:2]] == ["start", "window.end"]


def test_other_windows_are_not_meant() -> None:
    for sql in (
        "SELECT sum(v) OVER w FROM s WINDOW w AS (ORDER BY t)",
        "SELECT window.start FROM window GROUP BY window.start",
        "SELECT session, tumble FROM s GROUP BY session, tumble",
    ):
        assert not names_group_windows(read(sql))
        assert grouped_by(read(sql), sql) is None


def test_a_table_called_window_hides_the_window() -> None:
    sql = "SELECT window.start FROM window GROUP BY window.start, window(t, '1 second')"
    found = grouped_by(read(sql), sql)
    assert found is not None
    assert [m.shown for m in found.mentions] == ["window"]


def test_the_users_functions_go_before() -> None:
    sql = "SELECT hop(a, b, c) FROM s"
    assert grouped_by(read(sql), sql, {"hop"}) is None


@pytest.mark.parametrize(("size", "slide", "offset", "ends"), [(10, 10, 0, 0), (10, 3, 1, 2), (10, 5, -3, 2)])
def test_ends(size: int, slide: int, offset: int, ends: int) -> None:
    assert GroupWindow("hop", *seconds(size, slide, offset)).end_offset == timedelta(seconds=ends)


@pytest.mark.parametrize(
    ("text", "length"),
    [("10 seconds", 10), ("interval 1 minute", 60), ("1 minute -30 seconds", 30), ("1.5 hours", 5400), ("-2 s", -2)],
)
def test_lengths(text: str, length: float) -> None:
    assert read_length(text) == timedelta(seconds=length)


@pytest.mark.parametrize("text", ["", "10", "seconds", "10 seconds ago", "1 month", "10; DROP", "9" * 400 + " days"])
def test_what_is_no_length(text: str) -> None:
    with pytest.raises(SqlError):
        read_length(text)
