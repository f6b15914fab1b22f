# a renamed table keeps its rows, its rejected rows and its time
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 5
2 | 3
> ALTER TABLE r RENAME TO s
= "r" is now "s"
? SELECT * FROM s
1 | 5

? SELECT reason FROM s_rejected
late: t = 3 is before 5

! SELECT * FROM r
table "r" does not exist
line 1: SELECT * FROM r
                      ^
Detail: There is: s, s_rejected.

feed s
3 | 6
now s
6

> CREATE STANDARD TABLE n (a INT)
> INSERT INTO n VALUES (1)
> ALTER TABLE n RENAME TO m
? SELECT * FROM m
1

! ALTER TABLE m RENAME TO s
streaming table "s" exists already
Hint: Drop it first, or use IF NOT EXISTS.

