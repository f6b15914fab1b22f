# the worked example of Figure 1 of the paper: a streaming table, three windows at time 7, and a one-time query
#
# In the paper's part (b) the last row of [VID ROWS 1] has speed 32; the table in part (a) has 0, and (a) is right.

> CREATE STREAMING TABLE posreports (vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT, t BIGINT)
      TIMESTAMP BY t SHARD BY xway
> CREATE INDEX ON posreports (vid)
feed posreports
1 | 0 | 0 | 0 | 0 | 10 | 53320 | 0
2 | 32 | 0 | 0 | 1 | 10 | 53320 | 1
2 | 0 | 0 | 0 | 0 | 11 | 53320 | 3
4 | 0 | 0 | 0 | 0 | 11 | 53320 | 4
4 | 32 | 0 | 0 | 0 | 11 | 53320 | 6
advance posreports 7
now posreports
7

# (a) the streaming table, with its time column
?~ SELECT * FROM posreports
: vid | spd | xway | lane | dir | seg | pos | t
1 | 0 | 0 | 0 | 0 | 10 | 53320 | 0
2 | 32 | 0 | 0 | 1 | 10 | 53320 | 1
2 | 0 | 0 | 0 | 0 | 11 | 53320 | 3
4 | 0 | 0 | 0 | 0 | 11 | 53320 | 4
4 | 32 | 0 | 0 | 0 | 11 | 53320 | 6

# (b) sliding windows at time 7: the explicit columns, in decreasing time
? SELECT * FROM posreports [INTERVAL 3]
: vid | spd | xway | lane | dir | seg | pos
4 | 32 | 0 | 0 | 0 | 11 | 53320
4 | 0 | 0 | 0 | 0 | 11 | 53320

? SELECT * FROM posreports [ROWS 3]
: vid | spd | xway | lane | dir | seg | pos
4 | 32 | 0 | 0 | 0 | 11 | 53320
4 | 0 | 0 | 0 | 0 | 11 | 53320
2 | 0 | 0 | 0 | 0 | 11 | 53320

? SELECT * FROM posreports [vid ROWS 1]
: vid | spd | xway | lane | dir | seg | pos
4 | 32 | 0 | 0 | 0 | 11 | 53320
2 | 0 | 0 | 0 | 0 | 11 | 53320
1 | 0 | 0 | 0 | 0 | 10 | 53320

# (c) the one-time query for stopped cars
? SELECT * FROM posreports WHERE spd = 0 ORDER BY t
: vid | spd | xway | lane | dir | seg | pos | t
1 | 0 | 0 | 0 | 0 | 10 | 53320 | 0
2 | 0 | 0 | 0 | 0 | 11 | 53320 | 3
4 | 0 | 0 | 0 | 0 | 11 | 53320 | 4
