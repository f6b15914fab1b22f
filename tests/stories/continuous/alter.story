# a window, slide or period can be altered while rows flow; a wider window is filled from history
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE CONTINUOUS QUERY q AS SELECT SUM(v) AS s, COUNT(*) AS n FROM r [INTERVAL 4] AS x SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY other AS SELECT COUNT(*) AS n FROM r [INTERVAL 4] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY k AS SELECT ISTREAM vid, v FROM r [vid ROWS 1] SAMPLE INTERVAL 5
feed r
1 | 1 | 1
1 | 2 | 3
1 | 4 | 7
2 | 8 | 9
advance r 11
tick
changes q
+ 5 | 3 | 2
+ 10 | 12 | 2

> ALTER CONTINUOUS QUERY q SET WINDOW OF x = INTERVAL '12' SECOND
= continuous query "q" altered

> ALTER CONTINUOUS QUERY k SET WINDOW OF r = [vid ROWS 2]
feed r
1 | 16 | 14
advance r 16
tick
# 15: rows since 3
changes q
+ 15 | 30 | 4

changes~ k
+ 5 | 1 | 2
+ 10 | 1 | 4
+ 10 | 2 | 8
+ 15 | 1 | 16

> ALTER CONTINUOUS QUERY q SET SAMPLE INTERVAL 2
> ALTER CONTINUOUS QUERY q SET WINDOW OF x = [ROWS 2]
advance r 21
tick
changes q
+ 16 | 24 | 2
+ 18 | 24 | 2
+ 20 | 24 | 2

> ALTER CONTINUOUS QUERY q SET SAMPLE REALTIME
> ALTER CONTINUOUS QUERY q SET RANGE INTERVAL 10
feed r
1 | 32 | 22
1 | 64 | 24
advance r 25
tick
changes q
+ 22 | 48 | 2
+ 24 | 96 | 2

# RANGE INTERVAL 10 at time 25
? SELECT instant, s FROM q ORDER BY instant
15 | 30
16 | 24
18 | 24
20 | 24
22 | 48
24 | 96

# the other one was not disturbed
changes other
+ 5 | 2
+ 10 | 2
+ 15 | 1
+ 20 | 0

! ALTER CONTINUOUS QUERY q SET WINDOW OF y = [ROWS 2]
query "q" has no window of "y"
Hint: A table with an alias goes by the alias. There are windows of x.

! ALTER CONTINUOUS QUERY q SET WINDOW OF x = [SINCE 5]
the window of "x" grows without bound
Detail: All rows it will ever hold would have to be kept in memory: it is [SINCE 5], not [UNBOUNDED].
Hint: Use [INTERVAL ...], [LANDMARK DAY], [ROWS ...] or [NOW]; or [UNBOUNDED] with COUNT, SUM, AVG, MIN and MAX of numbers.

! ALTER CONTINUOUS QUERY p SET SAMPLE REALTIME
continuous query "p" does not exist
Detail: There is: k, other, q.

! ALTER CONTINUOUS QUERY r SET SAMPLE REALTIME
"r" is a streaming table, not a continuous query

