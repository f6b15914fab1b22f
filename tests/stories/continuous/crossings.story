# PREV is the value in the row before, ISTREAM sends only what is new: each crossing of a segment's border comes once
> CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE CONTINUOUS QUERY crossings AS
      SELECT ISTREAM vid, seg, PREV(seg) AS from_seg, t FROM r [vid ROWS 2] WHERE seg <> PREV(seg) SAMPLE REALTIME
feed r
1 | 10 | 0
2 | 20 | 0
1 | 10 | 30
2 | 21 | 30
3 | 30 | 31
1 | 11 | 60
2 | 21 | 60
advance r 61
tick
changes crossings
: vid | seg | from_seg | t
+ 30 | 2 | 21 | 20 | 30
+ 60 | 1 | 11 | 10 | 60

# NULL is not different from anything; two crossings may come at one instant
feed r
1 | NULL | 90
2 | 22 | 90
3 | 31 | 90
1 | 12 | 120
2 | 23 | 120
2 | 24 | 120
advance r 121
tick
changes~ crossings
+ 90 | 2 | 22 | 21 | 90
+ 90 | 3 | 31 | 30 | 90
+ 120 | 2 | 24 | 23 | 120

# two rows back
> CREATE CONTINUOUS QUERY back AS SELECT vid, seg, PREV(seg, 2) AS before FROM r [vid ROWS 3] WHERE t = NOW() SAMPLE REALTIME
feed r
2 | 25 | 150
4 | 40 | 150
advance r 151
tick
changes~ back
+ 150 | 2 | 25 | 23
+ 150 | 4 | 40 | NULL

changes crossings
+ 150 | 2 | 25 | 24 | 150

! CREATE CONTINUOUS QUERY x AS SELECT PREV(seg) AS p FROM r [ROWS 2] SAMPLE REALTIME
PREV needs a partitioned window
line 1: CREATE CONTINUOUS QUERY x AS SELECT PREV(seg) AS p FROM r [ROWS 2] SAMPLE REALTIME
                                            ^^^^
Hint: Write a window such as [vid ROWS 2] behind the table's name.

! CREATE CONTINUOUS QUERY x AS SELECT PREV(seg, 2) AS p FROM r [vid ROWS 2] SAMPLE REALTIME
PREV goes 2 rows back in a window of 2
line 1: CREATE CONTINUOUS QUERY x AS SELECT PREV(seg, 2) AS p FROM r [vid ROWS 2] SAMPLE REALTIME
                                            ^^^^
Hint: Make the window at least 3 rows long.

! CREATE CONTINUOUS QUERY x AS SELECT PREV(seg, 0) AS p FROM r [vid ROWS 2] SAMPLE REALTIME
PREV is written PREV(<column>) or PREV(<column>, <rows back>)
line 1: CREATE CONTINUOUS QUERY x AS SELECT PREV(seg, 0) AS p FROM r [vid ROWS 2] SAMPLE REALTIME
                                            ^^^^

