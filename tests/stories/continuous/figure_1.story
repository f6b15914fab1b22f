# the continuous query of Figure 1 of the paper: stopped cars of the last 4 seconds, every 2 seconds
#
# An instant is evaluated once time has passed it: at time 5 that is 4, at time 7 it is 6.

> CREATE STREAMING TABLE posreports (vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT, t BIGINT)
      TIMESTAMP BY t SHARD BY xway
> CREATE CONTINUOUS QUERY stopped AS SELECT * FROM posreports [INTERVAL 4] WHERE spd = 0 SAMPLE INTERVAL 2
= continuous query "stopped" created

feed posreports
1 | 0 | 0 | 0 | 0 | 10 | 53320 | 0
2 | 32 | 0 | 0 | 1 | 10 | 53320 | 1
2 | 0 | 0 | 0 | 0 | 11 | 53320 | 3
4 | 0 | 0 | 0 | 0 | 11 | 53320 | 4
advance posreports 4
tick
changes stopped
: vid | spd | xway | lane | dir | seg | pos
+ 0 | 1 | 0 | 0 | 0 | 0 | 10 | 53320
+ 2 | 1 | 0 | 0 | 0 | 0 | 10 | 53320

advance posreports 5
tick
changes stopped
+ 4 | 4 | 0 | 0 | 0 | 0 | 11 | 53320
+ 4 | 2 | 0 | 0 | 0 | 0 | 11 | 53320
+ 4 | 1 | 0 | 0 | 0 | 0 | 10 | 53320

feed posreports
4 | 32 | 0 | 0 | 0 | 11 | 53320 | 6
tick
changes stopped

advance posreports 7
tick
changes stopped
+ 6 | 4 | 0 | 0 | 0 | 0 | 11 | 53320
+ 6 | 2 | 0 | 0 | 0 | 0 | 11 | 53320

# the result is a table: it holds the rows of the last instant
?~ SELECT * FROM stopped
: vid | spd | xway | lane | dir | seg | pos | instant
4 | 0 | 0 | 0 | 0 | 11 | 53320 | 6
2 | 0 | 0 | 0 | 0 | 11 | 53320 | 6

now stopped
7
