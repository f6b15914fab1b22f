# the rows of the instant with those before them of the same key: what was long ago does not come again
> CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE STREAMING VIEW entries RANGE INTERVAL 100 AS
      SELECT vid, seg, t, COALESCE(t - PREV(t) <> 30, TRUE) AS begins FROM r [vid ROWS 4]
      WHERE t = NOW() AND (PREV(t) IS NULL OR t - PREV(t) <> 30 OR seg <> PREV(seg)) SAMPLE REALTIME
> CREATE CONTINUOUS QUERY moves AS
      SELECT vid, seg, PREV(seg) AS from_seg FROM entries [vid ROWS 2] WHERE instant = NOW() AND NOT begins SAMPLE REALTIME
> CREATE CONTINUOUS QUERY computed AS SELECT vid, t FROM r [vid ROWS 2] WHERE t > NOW() - 31 AND PREV(t) IS NOT NULL SAMPLE REALTIME
feed r
1 | 10 | 0
2 | 20 | 0
1 | 10 | 30
2 | 21 | 30
1 | 11 | 60
1 | 12 | 60
2 | 21 | 70
advance r 71
tick
changes~ entries
: vid | seg | t | begins
+ 0 | 1 | 10 | 0 | true
+ 0 | 2 | 20 | 0 | true
+ 30 | 2 | 21 | 30 | false
+ 60 | 1 | 11 | 60 | false
+ 60 | 1 | 12 | 60 | true
+ 70 | 2 | 21 | 70 | true
changes~ moves
: vid | seg | from_seg
+ 30 | 2 | 21 | 20
+ 60 | 1 | 11 | NULL
changes~ computed
: vid | t
+ 30 | 1 | 30
+ 30 | 2 | 30
+ 60 | 1 | 60
+ 60 | 2 | 30
+ 70 | 1 | 60
+ 70 | 2 | 70

# a row more than 100 before is not kept, and so is no row before
feed r
1 | 13 | 90
1 | 13 | 120
1 | 14 | 150
1 | 14 | 180
1 | 14 | 210
1 | 14 | 240
1 | 14 | 270
1 | 15 | 300
advance r 301
tick
changes~ moves
+ 90 | 1 | 13 | 12
+ 150 | 1 | 14 | 13
+ 300 | 1 | 15 | NULL
