# [cols ROWS k WITHIN INTERVAL i] holds the k newest rows of each key, and forgets what is older than i
> CREATE STREAMING TABLE r (vid INT, spd INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE CONTINUOUS QUERY stopped AS
      SELECT vid, COUNT(*) AS n FROM r [vid ROWS 2 WITHIN INTERVAL 10] WHERE spd = 0 GROUP BY vid SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY last AS SELECT vid, spd FROM r [vid ROWS 1] SAMPLE INTERVAL 5
feed r
1 | 0 | 1
2 | 0 | 2
1 | 0 | 3
1 | 9 | 6
NULL | 0 | 7
1 | 0 | 8
2 | 0 | 14
advance r 26
tick
# 5: 1 twice, 2 once. 10: of 1 the rows of 6 and 8. 15: rows since 5, so 1 once, 2 once (14). 20: since 10, 2 alone.
changes~ stopped
+ 5 | 1 | 2
+ 5 | 2 | 1
+ 10 | 1 | 1
+ 10 | 2 | 1
+ 10 | NULL | 1
+ 15 | 1 | 1
+ 15 | 2 | 1
+ 15 | NULL | 1
+ 20 | 2 | 1

changes~ last
+ 5 | 1 | 0
+ 5 | 2 | 0
+ 10 | 1 | 0
+ 10 | 2 | 0
+ 10 | NULL | 0
+ 15 | 1 | 0
+ 15 | 2 | 0
+ 15 | NULL | 0
+ 20 | 1 | 0
+ 20 | 2 | 0
+ 20 | NULL | 0
+ 25 | 1 | 0
+ 25 | 2 | 0
+ 25 | NULL | 0

