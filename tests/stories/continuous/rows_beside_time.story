# a window by rows that starts in the past and one by time over the same table do not disturb each other
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
feed r
1 | 1 | 1
2 | 2 | 3
1 | 3 | 5
2 | 4 | 8
1 | 5 | 11
advance r 13
tick
> CREATE CONTINUOUS QUERY sums FROM 0 AS SELECT SUM(v) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY newest FROM 8 AS SELECT v FROM r [ROWS 2] SAMPLE REALTIME
tick
changes sums
+ 0 | NULL
+ 5 | 6
+ 10 | 10

changes newest
+ 8 | 4
+ 8 | 3
+ 11 | 5
+ 11 | 4

feed r
2 | 6 | 14
advance r 21
tick
changes newest
+ 14 | 6
+ 14 | 5

changes sums
+ 15 | 15
+ 20 | 11
