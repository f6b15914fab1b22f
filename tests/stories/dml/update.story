# UPDATE changes rows of both tiers in place: time and order stay
> CREATE STREAMING TABLE r (vid INT, v INT, name STRING, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE INDEX ON r (name)
feed r
1 | 10 | a | 1
2 | 20 | b | 2
1 | 30 | NULL | 3
2 | 40 | b | 3
> UPDATE r SET v = v * 10, name = 'z' WHERE vid = 1
= 2 rows updated
? SELECT v, name FROM r WHERE name = 'z' ORDER BY t
100 | z
300 | z

? SELECT v, name FROM r WHERE name = 'a'

> UPDATE r SET name = NULL WHERE name = 'b' AND t = 3
= 1 row updated
? SELECT * FROM r [ROWS 3]
2 | 40 | NULL
1 | 300 | z
2 | 20 | b

> UPDATE r SET v = vid + v WHERE v > 1000
= 0 rows updated
> UPDATE r SET v = CASE WHEN v > 100 THEN NULL ELSE v END
= 4 rows updated
? SELECT t, v FROM r ORDER BY t, v NULLS LAST
1 | 100
2 | 20
3 | 40
3 | NULL

! UPDATE r SET vid = 3
column "vid" decides where a row is kept and cannot be updated
Hint: Delete the row and insert it again.

! UPDATE r SET t = 3
column "t" decides where a row is kept and cannot be updated
Hint: Delete the row and insert it again.

! UPDATE r SET nam = 'x'
column "nam" does not exist in table "r"
Hint: Did you mean "name"?

! UPDATE r SET v = w
column "w" does not exist in table "r"
line 1: UPDATE r SET v = w
                         ^
Detail: There is: name, t, v, vid.

! UPDATE r_rejected SET reason = 'x'
"r_rejected" holds the rejected rows of "r" and cannot be changed
Hint: It can only be read.

! DELETE FROM rr
table "rr" does not exist
line 1: DELETE FROM rr
        ^^^^^^^^^^^^^^
Hint: Did you mean "r"?


! DELETE FROM r_rejected
"r_rejected" holds the rejected rows of "r" and cannot be changed
Hint: It can only be read.

! DROP TABLE r_rejected
"r_rejected" holds the rejected rows of "r" and cannot be changed
Hint: It can only be read.

