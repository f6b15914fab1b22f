# rows before and after archiving, with and without index, answer as one table
with block_rows=4
> CREATE STREAMING TABLE r (vid INT, spd INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
feed r
1 | 10 | 1
2 | 20 | 2
3 | 30 | 3
1 | 11 | 4
2 | 21 | 5
> UPDATE r SET spd = spd WHERE vid = 0
= 0 rows updated
feed r
3 | 31 | 6
1 | 12 | 7
> CREATE INDEX ON r (vid)
feed r
2 | 22 | 8
? SELECT t, spd FROM r WHERE vid = 1 ORDER BY t
1 | 10
4 | 11
7 | 12

? SELECT vid, count(*) AS n, max(spd) AS top FROM r GROUP BY vid ORDER BY vid
1 | 3 | 12
2 | 3 | 22
3 | 2 | 31

? SELECT spd FROM r WHERE vid IN (2, 3) AND t BETWEEN 3 AND 6 ORDER BY t
30
21
31

? SELECT spd FROM r WHERE vid = 1 AND vid = 2

? SELECT count(*) FROM r WHERE vid > 2
2
