# a late row that its table keeps is history: no continuous query sees it, whether it came in the same tick or later
gap as-is, restart, cold, cold-restart, no-index, one-shard, four-shards, reader: one that comes in the same tick is seen
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 5 WITH (late = 'keep')
> CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r [INTERVAL 100] SAMPLE INTERVAL 5
feed r
1 | 10
1 | 20
1 | 3
advance r 21
tick
changes q
+ 10 | 1
+ 15 | 1
+ 20 | 2

feed r
1 | 4
advance r 26
tick
changes q
+ 25 | 2

? SELECT COUNT(*) FROM r
4
