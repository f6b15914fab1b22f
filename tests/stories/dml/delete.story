# DELETE takes rows out of both tiers; what was deleted does not come back
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE INDEX ON r (vid)
feed r
1 | 10 | 1
2 | 20 | 2
3 | 30 | 3
1 | 11 | 4
> DELETE FROM r WHERE vid = 1
= 2 rows deleted
feed r
1 | 12 | 5
? SELECT * FROM r ORDER BY t
2 | 20 | 2
3 | 30 | 3
1 | 12 | 5

> DELETE FROM r WHERE v IS NULL
= 0 rows deleted
? SELECT * FROM r [ROWS 2]
1 | 12
3 | 30

> DELETE FROM r WHERE t < (SELECT max(t) FROM r)
= 2 rows deleted
? SELECT v FROM r
12

> DELETE FROM r
= 1 row deleted
? SELECT * FROM r

now r
5

feed r
1 | 13 | 5
2 | 14 | 4
? SELECT v FROM r
13
