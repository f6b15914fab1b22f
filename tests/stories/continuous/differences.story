# insertions minus deletions are the result, also after ALTER, UPDATE, DELETE, PAUSE and RESUME
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k
> CREATE CONTINUOUS QUERY i AS SELECT ISTREAM k, v FROM r [ROWS 2] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY d AS SELECT DSTREAM k, v FROM r [ROWS 2] SAMPLE REALTIME
feed r
1 | 1 | 1
2 | 2 | 2
1 | 3 | 3
advance r 4
tick
changes i
+ 1 | 1 | 1
+ 2 | 2 | 2
+ 3 | 1 | 3

changes d
- 3 | 1 | 1

# two rows were sent and one is left in the window; both are gone with the next row
> ALTER CONTINUOUS QUERY i SET WINDOW OF r = [ROWS 1]
> ALTER CONTINUOUS QUERY d SET WINDOW OF r = [ROWS 1]
feed r
2 | 4 | 5
advance r 6
tick
changes i
+ 5 | 2 | 4

changes~ d
- 5 | 1 | 3
- 5 | 2 | 2

# what is gone is what was sent, not what the table has now
> UPDATE r SET v = 9 WHERE v = 4
feed r
1 | 5 | 7
advance r 8
tick
changes i
+ 7 | 1 | 5

changes d
- 7 | 2 | 4

> DELETE FROM r WHERE v = 5
feed r
3 | 6 | 9
advance r 10
tick
changes i
+ 9 | 3 | 6

changes d
- 9 | 1 | 5

> PAUSE CONTINUOUS QUERY i
> PAUSE CONTINUOUS QUERY d
feed r
3 | 7 | 11
advance r 12
tick
changes i

> RESUME CONTINUOUS QUERY i
> RESUME CONTINUOUS QUERY d
feed r
3 | 8 | 13
advance r 14
tick
changes i
+ 13 | 3 | 8

changes d
- 13 | 3 | 6

# what is new to a new query is all there is
> CREATE CONTINUOUS QUERY late AS SELECT ISTREAM k, v FROM r [ROWS 3] SAMPLE REALTIME
feed r
3 | 9 | 15
advance r 16
tick
changes~ late
+ 15 | 3 | 7
+ 15 | 3 | 8
+ 15 | 3 | 9
