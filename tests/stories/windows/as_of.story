# any window can be read as it was at an earlier time: what came later does not exist there
> CREATE STREAMING TABLE r (vid INT, spd INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '2' SECOND

> CREATE TABLE owners (vid INT, owner STRING)

> INSERT INTO owners VALUES (1, 'Ada'), (2, 'Bo')

> CREATE STREAMING VIEW latest RANGE INTERVAL '10' SECOND AS SELECT vid, spd FROM r [NOW] SAMPLE REALTIME

feed r
1 | 10 | 1
2 | 20 | 3
1 | 30 | 5
2 | 40 | 4
1 | 50 | 9
2 | 60 | 12
1 | 70 | 15

tick

# time is complete up to 13: rows of 14 may still come
?~ SELECT vid, spd, t FROM r AS OF 5
1 | 10 | 1
2 | 20 | 3
1 | 30 | 5
2 | 40 | 4

? SELECT vid, spd, t FROM r [INTERVAL '2' SECOND] AS OF 5
1 | 30 | 5
2 | 40 | 4
2 | 20 | 3

? SELECT vid, spd, t FROM r [ROWS 2] AS OF 4
2 | 40 | 4
2 | 20 | 3

? SELECT vid, spd FROM r [vid ROWS 1] ORDER BY vid AS OF 9
1 | 50
2 | 40

? SELECT vid, spd, NOW() AS now FROM r [NOW] AS OF 9
1 | 50 | 9

? SELECT count(*) AS n FROM r [NOW] AS OF 10
0

? SELECT o.owner, w.spd FROM r [vid ROWS 1] AS w JOIN owners AS o ON o.vid = w.vid ORDER BY o.owner AS OF 4
Ada | 10
Bo | 40

# without a window: the rows that are kept, here of 10 seconds, up to that time
? SELECT count(*) AS n FROM latest AS OF 9
4

? SELECT t AS of FROM r WHERE t > 12
15

! SELECT * FROM r AS OF 14
AS OF 14 is ahead of table "r"
Detail: It has reached 13.
Hint: Ask later.

! SELECT * FROM owners AS OF 4
AS OF needs a streaming table
Detail: Only streams are kept with their history.

! SELECT * FROM r_rejected AS OF 4
"r_rejected" cannot be read AS OF a time
Detail: Rejected rows have no order in time.

! SELECT * FROM r AS OF 'noon'
'noon' is not a time of table "r"
Detail: Its time column counts whole seconds.

! SELECT * FROM r AS OF 4 LIMIT
expected the end of the statement after AS OF and a time, but found "LIMIT"
line 1: SELECT * FROM r AS OF 4 LIMIT
                                ^^^^^
