# a column added to a table with history is NULL in the rows before, and takes values after
> CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
feed r
1 | 1
2 | 2
> ALTER TABLE r ADD COLUMN note STRING
= streaming table "r" altered
? SELECT * FROM r ORDER BY t
: vid | t | note
1 | 1 | NULL
2 | 2 | NULL

feed r
1 | 3 | x
feed r (vid, t)
2 | 4
? SELECT * FROM r ORDER BY t
1 | 1 | NULL
2 | 2 | NULL
1 | 3 | x
2 | 4 | NULL

? SELECT vid FROM r WHERE note IS NULL ORDER BY t
1
2
2

? SELECT vid, note FROM r [vid ROWS 2]
2 | NULL
1 | x
2 | NULL
1 | NULL

> CREATE INDEX ON r (note)
? SELECT t FROM r WHERE note = 'x'
3

> ALTER TABLE r ADD COLUMNS (a DOUBLE, b DATE)
feed r (t, a, vid)
5 | 0.5 | 3
? SELECT * FROM r WHERE t > 3 ORDER BY t
2 | 4 | NULL | NULL | NULL
3 | 5 | NULL | 0.5 | NULL

> UPDATE r SET note = 'old' WHERE note IS NULL AND t < 3
= 2 rows updated
? SELECT note, count(*) AS n FROM r GROUP BY note ORDER BY note
NULL | 2
old | 2
x | 1

! ALTER TABLE r ADD COLUMN NOTE INT
column "note" exists already in table "r"
