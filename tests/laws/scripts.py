"""Random lives of a pond: what Hypothesis draws, and playing it on a real pond and on the oracle at once."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from hypothesis import strategies as st

import millpond
from millpond.clock import ManualClock
from millpond.errors import RowsRejected, counted
from tests.laws.oracle import Condition, OracleTable, Row, grouped

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
HALF = 500_000  # microseconds a drawn unit of time counts in a TIMESTAMP column, so that times fall between seconds

# Small domains, so that rows meet: equal times, equal keys. Jumps cross the borders of compartments (days).
KEYS = st.sampled_from([None, -1, 0, 1, 2])
NAMES = st.sampled_from([None, "", "a", "b", "é"])
VALUES = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)]))
STEPS = st.sampled_from([0, 0, 0, 1, 1, 2, 3, -1, -2, -5, 7, 40, 90_000])
COLUMNS = ("k", "name", "v")


@dataclass(frozen=True)
class Setting:
    """A table and the pond it lives in."""

    timestamps: bool = False
    lateness: int = 0
    keep_late: bool = False
    shards: int = 1
    shard_by_key: bool = False
    history: int | None = None
    block_rows: int = 32


settings_of_tables = st.builds(
    Setting,
    timestamps=st.booleans(),
    lateness=st.sampled_from([0, 2, 6]),
    keep_late=st.booleans(),
    shards=st.sampled_from([1, 4]),
    shard_by_key=st.booleans(),
)


@st.composite
def row_lists(draw: st.DrawFn, most: int = 12, null_times: bool = False) -> list[Row]:
    """Rows whose times wander; negative ones, ties and rows far behind included."""
    time = draw(st.sampled_from([-10, 0, 0, 100_000]))
    rows: list[Row] = []
    for _ in range(draw(st.integers(0, most))):
        time += draw(STEPS)
        missing = null_times and draw(st.integers(0, 9)) == 0
        rows.append({"k": draw(KEYS), "name": draw(NAMES), "v": draw(VALUES), "t": None if missing else time})
    return rows


def _comparison() -> st.SearchStrategy[Condition]:
    operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    return st.one_of(
        st.tuples(operators, st.just("k"), st.integers(-2, 3)),
        st.tuples(operators, st.just("t"), st.sampled_from([-11, -1, 0, 1, 3, 40, 90_000, 100_000, 190_000])),
        st.tuples(operators, st.just("v"), st.integers(-3, 3)),
        st.tuples(st.sampled_from(["=", "<>", "<", ">="]), st.just("name"), st.sampled_from(["", "a", "b", "zz", "é"])),
        st.tuples(st.just("in"), st.just("k"), st.lists(st.integers(-2, 3), min_size=1, max_size=3).map(tuple)),
        st.tuples(st.just("in"), st.just("name"), st.sampled_from([("a",), ("a", "zz"), ("", "é")])),
        st.tuples(st.just("null"), st.sampled_from(COLUMNS)),
    )


conditions: st.SearchStrategy[Condition] = st.recursive(
    _comparison(),
    lambda inner: st.one_of(
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("and"), inner, inner),
        st.tuples(st.just("or"), inner, inner),
        st.tuples(st.just("not"), inner),
    ),
    max_leaves=4,
)

# What can happen to a pond between two offers of rows.
events = st.one_of(
    st.tuples(st.just("rows"), row_lists()),
    st.tuples(st.just("rows"), row_lists()),
    st.tuples(st.just("archive")),
    st.tuples(st.just("archive")),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("advance"), st.sampled_from([-5, 0, 3, 50, 100_010])),
    st.tuples(st.just("index"), st.sampled_from(["k", "name"])),
    st.tuples(st.just("column")),
    st.tuples(st.just("delete"), conditions),
    st.tuples(st.just("update"), conditions, st.integers(-3, 3)),
)


class Life:
    """A real pond and the oracle, living through the same events. Times are drawn in units (`tick` of them a unit)."""

    def __init__(self, setting: Setting, **config: Any) -> None:
        self.setting = setting
        self.unit = HALF if setting.timestamps else 1
        self.folder = Path(tempfile.mkdtemp(prefix="millpond-law-"))
        self.clock = ManualClock(1_767_225_600_000_000)
        self._config = {"auto_archive": False, "engine": "duckdb", "block_rows": setting.block_rows, **config}
        self.oracle = OracleTable(
            setting.lateness * self.unit,
            setting.keep_late,
            None if setting.history is None else setting.history * self.unit,
        )
        self.columns = [*COLUMNS, "t"]
        self.indexes: set[str] = set()
        self.db = self._open()
        self.db.sql(self._create())

    def _open(self) -> millpond.Pond:
        return millpond.connect(self.folder / "pond", clock=self.clock, **self._config)

    def _create(self) -> str:
        s = self.setting
        kind = "TIMESTAMP" if s.timestamps else "BIGINT"
        text = f"CREATE STREAMING TABLE r (k INT, name STRING, v INT, t {kind}) TIMESTAMP BY t"
        text += " SHARD BY k" if s.shard_by_key else ""
        text += f" LATENESS INTERVAL {self._seconds(s.lateness)}"
        text += f" RANGE INTERVAL {self._seconds(s.history)}" if s.history is not None else ""
        return text + f" WITH (shards = {s.shards}, late = '{'keep' if s.keep_late else 'reject'}')"

    def _seconds(self, units: int) -> str:
        return f"'{units * 500}' MILLISECOND" if self.setting.timestamps else f"'{units}' SECOND"

    def __enter__(self) -> Life:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()
        shutil.rmtree(self.folder)

    # -- events -----------------------------------------------------------------------------------------------------

    def live(self, event: tuple[Any, ...]) -> None:
        self.clock.advance(1)
        getattr(self, f"_{event[0]}")(*event[1:])

    def _rows(self, rows: list[Row]) -> None:
        whole = [dict.fromkeys(self.columns) | row for row in rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RowsRejected)
            self.db.append("r", [{**row, "t": self.time(row["t"])} for row in whole])
        for row in whole:
            self.oracle.offer({**row, "t": None if row["t"] is None else row["t"] * self.unit})

    def _advance(self, time: int) -> None:
        self.db.advance("r", self.time(time))
        self.oracle.advance(time * self.unit)

    def _archive(self) -> None:
        self.db.archive()

    def _reopen(self) -> None:
        self.db.close()
        self.db = self._open()

    def _index(self, column: str) -> None:
        self.db.sql(f"CREATE INDEX IF NOT EXISTS ON r ({column})")

    def _column(self) -> None:
        name = f"w{len(self.columns)}"
        self.db.sql(f"ALTER TABLE r ADD COLUMN {name} INT")
        self.columns.append(name)
        for row in self.oracle.rows:
            row[name] = None

    def _delete(self, condition: Condition) -> None:
        message = self.db.sql(f"DELETE FROM r WHERE {self.sql(condition)}").message
        assert message == f"{counted(self.oracle.delete(self.scaled(condition)), 'row')} deleted"

    def _update(self, condition: Condition, value: int) -> None:
        message = self.db.sql(f"UPDATE r SET v = {value} WHERE {self.sql(condition)}").message
        assert message == f"{counted(self.oracle.update(self.scaled(condition), 'v', value), 'row')} updated"

    # -- between the two worlds -------------------------------------------------------------------------------------

    def time(self, units: int | None) -> Any:
        """A drawn time as a user gives it."""
        if units is None or not self.setting.timestamps:
            return units
        return EPOCH + dt.timedelta(microseconds=units * HALF)

    def ticks(self, value: Any) -> int | None:
        """A time from an answer as the oracle counts it."""
        if isinstance(value, dt.datetime):
            return (value - EPOCH) // dt.timedelta(microseconds=1)
        return value

    def literal(self, units: int) -> str:
        return f"TIMESTAMP '{self.time(units):%Y-%m-%d %H:%M:%S.%f}'" if self.setting.timestamps else str(units)

    def sql(self, condition: Condition) -> str:
        kind = condition[0]
        if kind in ("and", "or"):
            return f"({self.sql(condition[1])} {kind.upper()} {self.sql(condition[2])})"
        if kind == "not":
            return f"(NOT {self.sql(condition[1])})"
        column = condition[1]
        if kind == "null":
            return f"{column} IS NULL"
        if kind == "in":
            return f"{column} IN ({', '.join(self._value(column, v) for v in condition[2])})"
        return f"{column} {kind} {self._value(column, condition[2])}"

    def _value(self, column: str, value: Any) -> str:
        if column == "t":
            return self.literal(value)
        return f"'{value}'" if isinstance(value, str) else str(value)

    def scaled(self, condition: Condition) -> Condition:
        """The condition with its event times."""
        if condition[0] in ("and", "or", "not"):
            return (condition[0], *(self.scaled(part) for part in condition[1:]))
        if condition[1] == "t":
            return (condition[0], "t", condition[2] * self.unit)
        return condition

    def seconds(self, units: int) -> str:
        """A length of time inside a window."""
        return f"INTERVAL {self._seconds(units)}"

    # -- comparing --------------------------------------------------------------------------------------------------

    def ask(self, text: str, *, db: millpond.Pond | None = None) -> list[tuple[Any, ...]]:
        return [tuple(self.ticks(v) for v in row) for row in (db or self.db).sql(text)]

    def tuples(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        return [tuple(row[c] for c in self.columns) for row in rows]

    @property
    def all_columns(self) -> str:
        return ", ".join(self.columns)

    def check_window(self, window: str, expected: list[Row]) -> None:
        """Rows and their order; and `*`, which leaves out the time."""
        assert self.ask(f"SELECT {self.all_columns} FROM r [{window}]") == self.tuples(expected), window
        explicit = [c for c in self.columns if c != "t"]
        shown = [tuple(row[c] for c in explicit) for row in expected]
        assert self.ask(f"SELECT * FROM r [{window}]") == shown, window

    def check_rows(self, text: str, expected: list[tuple[Any, ...]]) -> None:
        """Rows in any order."""
        assert Counter(self.ask(text)) == Counter(expected), text

    def check_everything(self) -> None:
        """All rows, what was rejected, and now."""
        self.check_rows(f"SELECT {self.all_columns} FROM r", self.tuples(self.oracle.rows))
        self.check_rows("SELECT k, count(*), count(v), sum(v), min(t), max(t) FROM r GROUP BY k",
                        grouped(self.oracle.rows, "k", "v"))  # fmt: skip
        assert self.ticks(self.db.now("r")) == self.oracle.now
        assert self.ask("SHOW REJECTED") == [("r", len(self.oracle.late), 0, len(self.oracle.malformed))]
        assert self.ask("SELECT count(*) FROM r_rejected") == [(len(self.oracle.late) + len(self.oracle.malformed),)]
