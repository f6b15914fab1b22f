"""The tuples of Linear Road and the city they speak of: names, order and Arrow schema of each file, and the constants.

Every field of every file is a whole number that fits 32 bits, so every column is `int32`; a field that does not apply
to a tuple's type is `NONE` (-1). Files have the fields in the order given here and, as CSV, no header.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

NONE: Final = -1

# --- the city ---------------------------------------------------------------------------------------------------------
SEGMENTS: Final = 100
"""One-mile segments of an expressway; each has an entry and an exit ramp in both directions."""
SEGMENT_FEET: Final = 5280
EXPRESSWAY_FEET: Final = SEGMENTS * SEGMENT_FEET
EAST: Final = 0
WEST: Final = 1
ENTRY_LANE: Final = 0
TRAVEL_LANES: Final = (1, 2, 3)
EXIT_LANE: Final = 4
MAX_SPEED: Final = 100
REPORT_SECONDS: Final = 30
RUN_MINUTES: Final = 180

# --- the calendar of the history --------------------------------------------------------------------------------------
HISTORY_DAYS: Final = 70
"""Ten weeks; day n is n days before the simulated day, so 1 is yesterday."""
REQUEST_DAYS: Final = 69
"""The days a daily expenditure request may ask for: 1 to 69."""
DAY_MINUTES: Final = 1440
WEEK_DAYS: Final = 7

# --- tuples -----------------------------------------------------------------------------------------------------------
POSITION: Final = 0
BALANCE: Final = 2
EXPENDITURE: Final = 3
TRAVEL_TIME: Final = 4


def _schema(*names: str) -> pa.Schema:
    return pa.schema([pa.field(name, pa.int32(), nullable=False) for name in names])


INPUT: Final = _schema(
    "Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos", "QID", "Sinit", "Send", "DOW", "TOD", "Day"
)
TOLLS: Final = _schema("VID", "Day", "XWay", "Tolls")
SEGMENT_STATISTICS: Final = _schema("Day", "Min", "XWay", "Dir", "Seg", "Lav", "Cnt", "Toll")
