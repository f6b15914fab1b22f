# a window over a query's result is not longer than the result is kept
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME
> CREATE STREAMING VIEW w RANGE INTERVAL 60 AS SELECT v FROM r [NOW] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY y AS SELECT COUNT(*) AS n FROM q [NOW], w [INTERVAL 60] SAMPLE REALTIME
! CREATE CONTINUOUS QUERY x AS SELECT COUNT(*) AS n FROM w [INTERVAL 61] SAMPLE REALTIME
the window of "w" is longer than "w" keeps its rows
Detail: They are kept for 1 minute, and the window has 61 seconds.
Hint: Keep them longer: ALTER STREAMING VIEW w SET RANGE INTERVAL ...; or make the window shorter.

! CREATE CONTINUOUS QUERY x AS SELECT COUNT(*) AS n FROM q [INTERVAL 60] SAMPLE REALTIME
"q" keeps only the results of its last instant
Hint: Keep them longer: ALTER CONTINUOUS QUERY q SET RANGE INTERVAL '5' MINUTE; or read it through [NOW].

