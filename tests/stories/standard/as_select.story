# a standard table can be made from a query over a stream, and stays as it was
> CREATE STREAMING TABLE r (vid INT, spd INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 10 | 1
2 | 20 | 2
1 | 30 | 3
> CREATE STANDARD TABLE tops AS SELECT vid, max(spd) AS top, count(*) AS n FROM r GROUP BY vid
= standard table "tops" created with 2 rows
feed r
1 | 90 | 4
? SELECT * FROM tops ORDER BY vid
: vid | top | n
1 | 30 | 2
2 | 20 | 1

? SELECT r.vid, r.spd FROM r JOIN tops ON r.vid = tops.vid AND r.spd > tops.top
1 | 90
