# FROM a past time a query starts in history and goes on into the future
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
feed r
1 | 1 | 1
2 | 2 | 3
1 | 3 | 5
2 | 4 | 8
1 | 5 | 11
advance r 13
tick
# without FROM it begins where time stands, 13, with its window filled
> CREATE CONTINUOUS QUERY from_now AS SELECT SUM(v) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY from_6 FROM 6 AS SELECT SUM(v) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY from_start FROM 0 AS SELECT SUM(v) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY steps FROM 5 AS SELECT ISTREAM vid, v, PREV(v) AS before FROM r [vid ROWS 2] WHERE t = NOW() SAMPLE REALTIME
tick
changes from_now

changes from_6
+ 10 | 10

changes from_start
+ 0 | NULL
+ 5 | 6
+ 10 | 10

changes~ steps
+ 5 | 1 | 3 | 1
+ 8 | 2 | 4 | 2
+ 11 | 1 | 5 | 3

feed r
2 | 6 | 14
advance r 21
tick
changes from_now
+ 15 | 15
+ 20 | 11

changes from_6
+ 15 | 15
+ 20 | 11

changes from_start
+ 15 | 15
+ 20 | 11

changes~ steps
+ 14 | 2 | 6 | 4

