"""The tables of the corpus: small, deterministic, and full of the values on which engines disagree."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import pyarrow as pa

INF = float("inf")
NAN = float("nan")


def posreports() -> pa.Table:
    """About 500 position reports of 25 cars, shaped like Linear Road's; NULLs everywhere but in the time column."""
    rng = random.Random(7)
    rows = []
    for vid in range(100, 125):
        seg, direction, xway = rng.randrange(0, 8), rng.randrange(2), rng.randrange(2)
        start = rng.randrange(0, 30)
        for i in range(20):
            stopped = vid % 8 == 0 and 6 <= i < 12
            speed = 0 if stopped else rng.randrange(20, 100)
            pos = seg * 5280 + (2640 if stopped else rng.randrange(5280))
            row = [vid, speed, xway, rng.randrange(5), direction, seg, pos, start + 30 * i]
            for column in (1, 2, 3, 4, 5, 6):
                if rng.random() < 0.03:
                    row[column] = None
            if rng.random() < 0.01:
                row[0] = None
            rows.append(row)
            if not stopped and rng.random() < 0.4:
                seg += 1
    rng.shuffle(rows)
    kinds = [pa.int32()] * 7 + [pa.int64()]
    names = ["vid", "spd", "xway", "lane", "dir", "seg", "pos", "t"]
    return pa.table({n: pa.array([r[i] for r in rows], k) for i, (n, k) in enumerate(zip(names, kinds, strict=True))})


def readings() -> pa.Table:
    """About 200 readings with NaN, infinities, both zeros, empty and non-ASCII texts, and the ends of BIGINT."""
    rng = random.Random(11)
    sensors = ["a1", "A1", "b2", "", " pad ", "héllo", "日本語", "a_c", "50%", "x\ny", None, "42", "zeta"]
    values = [0.0, -0.0, 1.5, -2.5, 2.5, 0.125, 2.675, 1e15, 1e-7, NAN, INF, -INF, None, 99.995, -0.5, 3.0]
    amounts = ["0.00", "1.50", "-2.50", "2.50", "99999999.99", "-99999999.99", "0.05", None, "10.25", "3.33"]
    numbers = [0, 1, -1, 7, -7, 1000, 2**31, -(2**31) - 1, 2**62, -(2**62), None, 3, 12]
    begin = dt.datetime(2024, 2, 27, 22, 58, 30)
    columns: dict[str, list[object]] = {n: [] for n in ("at", "sensor", "value", "flag", "amount", "day", "n")}
    for i in range(200):
        columns["at"].append(begin + dt.timedelta(minutes=37 * i, microseconds=rng.choice([0, 0, 500_000, 123_456])))
        columns["sensor"].append(sensors[i % len(sensors)])
        columns["value"].append(values[rng.randrange(len(values))] if i % 3 else round(rng.uniform(-50, 50), 3))
        columns["flag"].append(rng.choice([True, False, None]))
        amount = amounts[i % len(amounts)]
        columns["amount"].append(None if amount is None else Decimal(amount))
        columns["day"].append(None if i % 17 == 0 else dt.date(2023, 12, 29) + dt.timedelta(days=3 * i))
        columns["n"].append(numbers[rng.randrange(len(numbers))])
    columns["n"][0], columns["n"][1] = 2**63 - 1, -(2**63)
    at, amount = pa.timestamp("us", tz="UTC"), pa.decimal128(10, 2)
    kinds = [at, pa.string(), pa.float64(), pa.bool_(), amount, pa.date32(), pa.int64()]
    return pa.table({n: pa.array(v, k) for (n, v), k in zip(columns.items(), kinds, strict=True)})


def criticalsegs() -> pa.Table:
    return pa.table(
        {
            "seg": pa.array([1, 3, 5, 7, 9, None], pa.int32()),
            "name": pa.array(["Harbour", "Old Bridge", None, "Tunnel", "Nowhere", "Unknown"], pa.string()),
        }
    )


def owners() -> pa.Table:
    vids = [100, 101, 103, 104, 107, 108, 110, 112, 115, 115, 120, 130, 131, None]
    names = ["Ada", "Bo", "Cy", "Ada", None, "Eve", "Fay", "Gil", "Hal", "Ida", "Jo", "Kim", "", "Lou"]
    since = [None if i in (3, 9) else dt.date(2020, 1, 31) + dt.timedelta(days=45 * i) for i in range(len(vids))]
    columns = (pa.array(vids, pa.int32()), pa.array(names, pa.string()), pa.array(since, pa.date32()))
    return pa.table(dict(zip(("vid", "owner", "since"), columns, strict=True)))


def _keyed(column: str, keys: list[int | None], values: list[int]) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int32()), column: pa.array(values, pa.int32())})


def n() -> pa.Table:
    return _keyed("x", [1, 2, 3, None], [10, 20, 30, 40])


def m() -> pa.Table:
    return _keyed("y", [2, 3, 4, None], [200, 300, 400, 500])


def o() -> pa.Table:
    return _keyed("z", [1, 4, 5, None], [1000, 4000, 5000, 6000])


def z() -> pa.Table:
    """Both zeros, NaN and NULL, each in a row of its own."""
    return pa.table({"d": pa.array([0.0, -0.0, 1.0, NAN, None]), "i": pa.array([1, 2, 3, 4, 5], pa.int32())})


def e() -> pa.Table:
    """No rows."""
    kinds = {"a": pa.int32(), "b": pa.int32(), "s": pa.string(), "d": pa.float64()}
    return pa.table({name: pa.array([], kind) for name, kind in kinds.items()})


def prices() -> pa.Table:
    """FLOAT, DOUBLE and DECIMAL side by side: values that only some of them hold, NaN, infinities and both zeros."""
    singles = [0.1, NAN, 16777216.0, -INF, 2.5, None, -0.0, 0.0, INF, 19.95]
    doubles = [NAN, 0.1, 16777217.0, INF, 2.5, 19.95, 0.0, None, -0.0, 20.0]
    cents = ["19.99", "20.00", None, "-0.01", "2.50", "19.95", "0.00", "99999999.99", "-99999999.99", "0.10"]
    large = [
        "20.00",
        "19.99",
        "9999999999999999.99",
        None,
        "2.50",
        "19.94",
        "0.01",
        "-9999999999999999.99",
        "0.00",
        "0.10",
    ]
    shares = ["0.5", "0.000000000000000001", None, "-0.999999999999999999", "0", "0.1", "0.25", "0.125", "0.75", "0.9"]
    columns = {
        "f": pa.array(singles, pa.float32()),
        "x": pa.array(doubles, pa.float64()),
        "a": pa.array([None if each is None else Decimal(each) for each in cents], pa.decimal128(10, 2)),
        "b": pa.array([None if each is None else Decimal(each) for each in large], pa.decimal128(18, 2)),
        "c": pa.array([None if each is None else Decimal(each) for each in shares], pa.decimal128(18, 18)),
        "k": pa.array([0, 1, 2, None, 16777217, -1, 20, 19, 3, 4], pa.int32()),
        "flag": pa.array([True, False, None, True, False, None, True, False, True, False]),
    }
    return pa.table(columns)


TABLES = {
    **{"posreports": posreports, "readings": readings, "criticalsegs": criticalsegs, "owners": owners},
    **{"n": n, "m": m, "o": o, "z": z, "e": e, "prices": prices},
}

# Spark's types, as millpond's catalog writes them.
SCHEMA: dict[str, dict[str, str]] = {
    "posreports": {**dict.fromkeys(("vid", "spd", "xway", "lane", "dir", "seg", "pos"), "INT"), "t": "BIGINT"},
    "readings": {
        "at": "TIMESTAMP",
        "sensor": "STRING",
        "value": "DOUBLE",
        "flag": "BOOLEAN",
        "amount": "DECIMAL(10, 2)",
        "day": "DATE",
        "n": "BIGINT",
    },
    "criticalsegs": {"seg": "INT", "name": "STRING"},
    "owners": {"vid": "INT", "owner": "STRING", "since": "DATE"},
    "n": {"k": "INT", "x": "INT"},
    "m": {"k": "INT", "y": "INT"},
    "o": {"k": "INT", "z": "INT"},
    "z": {"d": "DOUBLE", "i": "INT"},
    "e": {"a": "INT", "b": "INT", "s": "STRING", "d": "DOUBLE"},
    "prices": {
        "f": "FLOAT",
        "x": "DOUBLE",
        "a": "DECIMAL(10, 2)",
        "b": "DECIMAL(18, 2)",
        "c": "DECIMAL(18, 18)",
        "k": "INT",
        "flag": "BOOLEAN",
    },
}
