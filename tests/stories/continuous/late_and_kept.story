# a table that keeps late rows cannot be read continuously
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 5 WITH (late = 'keep')
! CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r [INTERVAL 100] SAMPLE INTERVAL 5
"r" keeps late rows, so it cannot be read continuously
Detail: Whether such a row is in a window would depend on when it came.
Hint: Reject late rows: ALTER STREAMING TABLE r SET (late = 'reject').

> ALTER STREAMING TABLE r SET (late = 'reject')
> CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r [INTERVAL 100] SAMPLE INTERVAL 5
feed r
1 | 10
1 | 20
1 | 3
advance r 21
tick
changes q
+ 10 | 1
+ 15 | 1
+ 20 | 2

? SELECT COUNT(*) FROM r_rejected
1
