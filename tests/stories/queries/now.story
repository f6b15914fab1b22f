# in a query that reads streams NOW() is their time, with and without a window; CURRENT_TIMESTAMP is the wall clock
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 2
> CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE m (v INT, t TIMESTAMP) TIMESTAMP BY t
? SELECT COUNT(*) AS n, NOW() AS now FROM r
0 | NULL

feed r
1 | 5
2 | 9
3 | 12
feed m
1 | 2026-01-02 10:00:00
? SELECT v, NOW() AS now FROM r [ROWS 1]
3 | 10
? SELECT v, NOW() AS now FROM r ORDER BY v
1 | 10
2 | 10
3 | 10
?~ SELECT v, NOW() - t AS age FROM r WHERE t < NOW()
1 | 5
2 | 1
? SELECT MAX(NOW()) AS now FROM r AS OF 7
7
? SELECT v, NOW() AS now FROM m
1 | 2026-01-02 10:00:00
# of several streams the earliest; one without rows has no time
? SELECT DISTINCT NOW() AS now FROM r LEFT JOIN s ON r.v = s.v
10
feed s
1 | 6
? SELECT DISTINCT NOW() AS now FROM r LEFT JOIN s ON r.v = s.v
6
? SELECT COUNT(*) AS n FROM r_rejected WHERE reason LIKE 'late%'
0
! SELECT r.v, NOW() AS now FROM r JOIN m ON r.v = m.v
NOW() is of streams whose times cannot be compared
line 1: SELECT r.v, NOW() AS now FROM r JOIN m ON r.v = m.v
                    ^^^
Detail: One is in whole seconds, another a TIMESTAMP.

! CREATE CONTINUOUS QUERY q AS SELECT v, CURRENT_TIMESTAMP AS at FROM r [NOW] SAMPLE REALTIME
function "current_timestamp" is not deterministic
Detail: It depends on the wall clock; the results of a continuous query follow from the rows in its windows.
Hint: NOW() is the instant of evaluation; it is of the type of the table's time.
