# rows that fulfil a condition are counted over a growing window, also when nothing of them is selected
> CREATE STREAMING TABLE r (a INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY c AS SELECT count(*) AS c FROM r [UNBOUNDED] WHERE a > 1 SAMPLE REALTIME
feed r
1 | 1
2 | 2
3 | 3
NULL | 4
advance r 5
tick
changes c
+ 1 | 0
+ 2 | 1
+ 3 | 2
+ 4 | 2

