# a column can be added while queries run: those there are keep their columns, new ones see it
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE CONTINUOUS QUERY q AS SELECT * FROM r [INTERVAL 60] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY k AS SELECT vid, v, PREV(v) AS p FROM r [vid ROWS 2] WHERE t = NOW() SAMPLE REALTIME
feed r
1 | 1 | 1
advance r 2
tick
> ALTER TABLE r ADD COLUMN w INT
feed r (vid, v, t, w)
1 | 2 | 3 | 7
advance r 5
tick
changes~ q
: vid | v
+ 1 | 1 | 1
+ 3 | 1 | 1
+ 3 | 1 | 2

changes k
+ 1 | 1 | 1 | NULL
+ 3 | 1 | 2 | 1

> CREATE CONTINUOUS QUERY n AS SELECT v, w FROM r [INTERVAL 60] SAMPLE REALTIME
feed r (vid, v, t, w)
2 | 3 | 6 | 8
advance r 7
tick
changes~ n
+ 6 | 1 | NULL
+ 6 | 2 | 7
+ 6 | 3 | 8
