"""IoT sensors: late and broken readings.

Shows what happens to rows that cannot be taken (they are kept with a reason, not lost), the newest reading of every
device, and an alarm that compares a reading with the one before it from the same device.

`append` also warns about the malformed reading, on standard error.

It prints:

accepted 6, late 1, malformed 1
 reason                                   | row
------------------------------------------+---------------------------------------------------
 column "celsius": 'warm' is not a DOUBLE | {"device": "boiler", "celsius": "warm", "t": 121}
 late: t = 90 is before 115               | {"device": "fridge", "celsius": 4.0, "t": 90}
(2 rows)
 device | celsius |   t
--------+---------+-----
 attic  |    18.0 | 118
 boiler |    79.0 | 120
 fridge |     4.5 | 111
(3 rows)
 device | before | celsius |   t | instant | _seq
--------+--------+---------+-----+---------+------
 boiler |   64.5 |    79.0 | 120 |     120 |    0
(1 row)
"""

from __future__ import annotations

import tempfile

import millpond

READINGS = [
    {"device": "boiler", "celsius": 61.0, "t": 100},
    {"device": "fridge", "celsius": 4.0, "t": 101},
    {"device": "boiler", "celsius": 64.5, "t": 110},
    {"device": "fridge", "celsius": 4.5, "t": 111},
    {"device": "boiler", "celsius": 79.0, "t": 120},
    {"device": "fridge", "celsius": 4.0, "t": 90},  # 30 seconds behind the newest reading: too late
    {"device": "boiler", "celsius": "warm", "t": 121},  # not a number
    {"device": "attic", "celsius": 18.0, "t": 118},  # out of order, but in time
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder) as db:
        db.sql("""
            CREATE STREAMING TABLE readings (device STRING, celsius DOUBLE, t BIGINT)
              TIMESTAMP BY t LATENESS INTERVAL '5' SECOND;
            CREATE CONTINUOUS QUERY alarms AS
              SELECT ISTREAM device, PREV(celsius) AS before, celsius, t FROM readings [device ROWS 2]
              WHERE celsius - PREV(celsius) > 10 SAMPLE EACH ROW
        """)
        receipt = db.append("readings", READINGS)
        print(f"accepted {receipt.accepted}, late {receipt.late}, malformed {receipt.malformed}")
        print(db.sql("SELECT reason, row FROM readings_rejected"))
        print(db.sql("SELECT device, celsius, t FROM readings [device ROWS 1] ORDER BY device"))
        db.advance("readings", 125)
        db.tick()
        print(db.resume("alarms").fetch())


if __name__ == "__main__":
    main()
