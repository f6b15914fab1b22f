# a query begins where time stands when it is created, with full windows; dropped and created again it begins anew
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE CONTINUOUS QUERY always AS SELECT SUM(v) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 5
feed r
1 | 1 | 2
2 | 2 | 6
advance r 11
tick
> CREATE CONTINUOUS QUERY late AS SELECT SUM(v) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY came AS SELECT ISTREAM vid, v FROM r [vid ROWS 1] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY went AS SELECT DSTREAM v FROM r [INTERVAL 9] SAMPLE INTERVAL 5
# at its first instant ISTREAM sends all of its result, DSTREAM nothing
feed r
1 | 4 | 12
advance r 16
tick
changes always
+ 5 | 1
+ 10 | 3
+ 15 | 6

changes late
+ 15 | 6

changes~ came
+ 12 | 1 | 4
+ 12 | 2 | 2

changes went

> DROP CONTINUOUS QUERY late
> CREATE CONTINUOUS QUERY late AS SELECT COUNT(*) AS n FROM r [ROWS 9] SAMPLE INTERVAL 5
advance r 21
tick
changes late
: n
+ 20 | 3

changes always
+ 20 | 4

# heartbeats alone move time: slides go on over an empty window, arrivals do not
advance r 31
tick
changes always
+ 25 | NULL
+ 30 | NULL

changes came

