# what retention has deleted is not missing in silence
> CREATE STREAMING TABLE r (v INT, t TIMESTAMP) TIMESTAMP BY t RANGE INTERVAL '1' HOUR

feed r
1 | 2026-01-01 10:00:00
2 | 2026-01-01 10:30:00
3 | 2026-01-01 11:00:00
4 | 2026-01-01 12:00:00

? SELECT v FROM r [INTERVAL '10' MINUTE] AS OF TIMESTAMP '2026-01-01 11:10:00'
3

! SELECT v FROM r [INTERVAL '30' MINUTE] AS OF '2026-01-01 11:10:00'
table "r" no longer has all rows that are needed as of 2026-01-01 11:10:00
Detail: It keeps those since 2026-01-01 11:00:00.

! SELECT v FROM r AS OF '2026-01-01 10:00:00'
table "r" no longer has all rows that are needed as of 2026-01-01 10:00:00
Detail: It keeps those since 2026-01-01 11:00:00.
