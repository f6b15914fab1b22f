# ALTER ... SET WINDOW and SET SAMPLE changed a query of group windows into one whose starts and ends were wrong; other windows of it can be altered
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY sums RANGE UNBOUNDED AS SELECT window.start, SUM(v) AS s FROM r GROUP BY window(t, '10 seconds')
> CREATE CONTINUOUS QUERY both RANGE UNBOUNDED AS SELECT a.window_start, COUNT(*) AS n FROM TUMBLE(r, t, INTERVAL '10' SECOND) a JOIN r [k ROWS 1] b ON a.k = b.k GROUP BY a.window_start
! ALTER CONTINUOUS QUERY sums SET WINDOW OF r = [INTERVAL '5' SECOND]
the window of "r" is the group window of "sums"
Detail: What the query sends is named after its length.
Hint: Drop the query, and create it with another window.

! ALTER CONTINUOUS QUERY sums SET SAMPLE REALTIME
the instants of "sums" are the ends of its group windows
Hint: Drop it, and create it with other windows.

! ALTER CONTINUOUS QUERY both SET WINDOW OF a = [INTERVAL '5' SECOND]
the window of "a" is the group window of "both"
Detail: What the query sends is named after its length.
Hint: Drop the query, and create it with another window.

> ALTER CONTINUOUS QUERY both SET WINDOW OF b = [k ROWS 2]
> ALTER CONTINUOUS QUERY sums SET RANGE INTERVAL '1' HOUR
feed r
a | 1 | 0
a | 2 | 9
advance r 11
tick
changes sums
: start | s
+ 10 | 0 | 3
changes both
: window_start | n
+ 10 | 0 | 4
