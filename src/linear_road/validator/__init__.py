"""The validator: the answers of Linear Road worked out from the input again, and compared with an output file.

It shares nothing with the application but the names of the input's fields. `validate` reads both files and returns a
`Verdict`: how many answers of each type are right, missing, unexpected, wrong or late, and the response times.

    verdict = validate(Path("lr/input.parquet"), Path("run/output.csv"), tolls=..., segments=...)
    print(verdict)
    sys.exit(not verdict.ok)

The way of a row: `read` splits the input by expressway and direction, which do not see one another; for each of these
`vehicles` follows every vehicle through its trips, `statistics` makes the minute figures of the segments, `accidents`
finds the accidents, and `tolls` turns them into notifications, alerts and charges. `balances` and `histories` answer
the requests. `expected` collects all that, `output` reads the file under test, `compare` pairs the two, `verdict` says
what came of it.

**Readings**, where the specification and the paper's tables leave something open. Each is used in one place.

Reports
1. A vehicle is followed on each expressway and direction by itself; a report from elsewhere is no part of the trip.
2. Of several reports of one vehicle from one expressway and direction in the same second the first in the file counts.
3. The previous report is the one exactly 30 s earlier, also when there are others in between.
4. Stopped: the last four reports, each 30 s after the one before, agree in lane and position. A vehicle stays stopped
   until its next report, at most for 30 s: after a last report at t the last second is t + 29.
5. Reports from all lanes, the ramps too, count for `Lav` and cars, as in Table 2. Speeds count as they are, negative
   ones too; `Lav` is rounded down (towards minus infinity), from the exact mean: a mean of exactly 40 is 40.
6. The segment of an accident follows from its position (Table 3), all other segments are the reports' own.
7. A report outside the city (direction not 0 or 1, segment not 0-99, lane not 0-4, a negative time, vehicle or
   expressway, a speed beyond 16 bits) is left out; the verdict says how many there were. So are rows of unknown type.

Charges
8. A charge falls due in the second of the first report from the next segment. It is the toll quoted on entering, even
   if a later report from the same segment would have been quoted another. Without a quote (the first report from the
   segment was from its exit ramp) there is nothing to charge.
9. A vehicle leaves by the exit ramp if its last report from the segment is from there, even if it goes on to report
   from another segment 30 s later.
10. A balance is right as of ResultTime if it contains all charges up to and including that second, over all
    expressways; ResultTime is from Time - 60 to Time.

Requests
11. Answers go with requests by type, query id and time.
12. Several toll history rows of one vehicle, day and expressway add up. Without a file every expenditure is 0.
13. The mean over history days is over the rows there are among days 1-70. A segment without any, or with a mean speed
    of zero or below, adds neither time nor toll to a journey; so without a file both are 0. A journey to its own
    starting segment takes no time and costs nothing.
14. The minute of arrival in a segment is the whole part of TOD plus the minutes travelled. Where that sum is a whole
    number but for rounding, both minutes are accepted.
15. Time and toll of a journey are added up unrounded. An answer may be off by 1 from each: it may be rounded any way.

Timing
16. A response is Emit - Time; in time is from 0 to the limit, both included. Only answers with Time at or after `start`
    are timed: what is replayed before it is checked for its content alone.
"""

from __future__ import annotations

from linear_road.validator.expected import Expected, expect
from linear_road.validator.progress import Progress
from linear_road.validator.validate import validate
from linear_road.validator.verdict import Example, TypeVerdict, Verdict

__all__ = ["Example", "Expected", "Progress", "TypeVerdict", "Verdict", "expect", "validate"]
