# with a TIMESTAMP time column instants are multiples of the slide since 1970, and the result's time is a TIMESTAMP
> CREATE STREAMING TABLE r (at TIMESTAMP, v INT) TIMESTAMP BY at SHARD BY v
> CREATE CONTINUOUS QUERY q RANGE INTERVAL '1' HOUR AS
      SELECT COUNT(*) AS n, NOW() AS n_at FROM r [INTERVAL '500' MILLISECOND] SAMPLE INTERVAL '1' SECOND
feed r
2026-03-01 12:00:00.400000 | 1
2026-03-01 12:00:00.500000 | 2
2026-03-01 12:00:01 | 3
2026-03-01 12:00:01.000001 | 4
advance r 2026-03-01 12:00:02
tick
changes q
: n | n_at
+ 2026-03-01 12:00:01 | 2 | 2026-03-01 12:00:01

advance r 2026-03-01 12:00:02.000001
tick
changes q
+ 2026-03-01 12:00:02 | 0 | 2026-03-01 12:00:02

? SELECT n, instant FROM q WHERE instant > TIMESTAMP '2026-03-01 12:00:01'
0 | 2026-03-01 12:00:02

! CREATE CONTINUOUS QUERY x AS SELECT v FROM r [NOW], whole [NOW] SAMPLE REALTIME
table "whole" does not exist
line 1: CREATE CONTINUOUS QUERY x AS SELECT v FROM r [NOW], whole [NOW] SAMPLE REALTIME
                                                            ^^^^^
Detail: There is: q, r, r_rejected.

