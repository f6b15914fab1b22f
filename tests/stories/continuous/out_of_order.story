# rows that come out of order within LATENESS change nothing: an instant waits until time has passed it; a late row is not seen
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid LATENESS INTERVAL 5
> CREATE CONTINUOUS QUERY sums AS SELECT SUM(v) AS s FROM r [INTERVAL 4] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY steps AS SELECT vid, v, PREV(v) AS before FROM r [vid ROWS 2] WHERE t = NOW() SAMPLE REALTIME
feed r
1 | 1 | 2
1 | 4 | 6
1 | 2 | 3
2 | 8 | 6
1 | 16 | 9
2 | 32 | 5
now r
4

tick
changes sums

changes~ steps
+ 2 | 1 | 1 | NULL
+ 3 | 1 | 2 | 1

feed r
2 | 64 | 12
1 | 99 | 1
2 | 128 | 7
tick
# 5: the rows of 2, 3 and 5
changes sums
+ 5 | 35

changes~ steps
+ 5 | 2 | 32 | NULL
+ 6 | 1 | 4 | 2
+ 6 | 2 | 8 | 32

advance r 13
tick
# 10: those of 6, 6, 7 and 9
changes sums
+ 10 | 156

changes~ steps
+ 7 | 2 | 128 | 8
+ 9 | 1 | 16 | 4
+ 12 | 2 | 64 | 128

