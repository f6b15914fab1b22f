# what a query sends before the instant at which it fails does not depend on batches
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q AS SELECT 60 / v AS share FROM r [NOW] SAMPLE REALTIME
feed r
2 | 1
0 | 2
3 | 3
advance r 9
tick
changes q
+ 1 | 30.0
