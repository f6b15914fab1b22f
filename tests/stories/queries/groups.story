# grouping, distinct, ordering and set operations over a stream
> CREATE STREAMING TABLE r (vid INT, seg INT, spd INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 10 | 50 | 0
2 | 10 | NULL | 30
3 | 11 | 40 | 61
1 | 11 | 60 | 65
NULL | 11 | 20 | 119
? SELECT seg, count(*) AS n, count(spd) AS known, avg(spd) AS pace FROM r GROUP BY seg HAVING count(*) > 1 ORDER BY seg
10 | 2 | 1 | 50.0
11 | 3 | 3 | 40.0

? SELECT t DIV 60 AS minute, count(DISTINCT vid) AS cars FROM r GROUP BY t DIV 60 ORDER BY minute
0 | 2
1 | 2

? SELECT DISTINCT seg FROM r ORDER BY seg DESC
11
10

? SELECT vid FROM r WHERE seg = 10 INTERSECT SELECT vid FROM r WHERE seg = 11
1

? SELECT vid, spd, row_number() OVER (PARTITION BY vid ORDER BY t DESC) AS nth FROM r WHERE vid = 1 ORDER BY t
1 | 50 | 2
1 | 60 | 1

? SELECT vid FROM r WHERE vid NOT IN (SELECT vid FROM r WHERE seg = 11 AND vid IS NOT NULL)
2

? SELECT t FROM r ORDER BY t DESC LIMIT 2
119
65

? SELECT vid, CASE WHEN spd >= 50 THEN 'fast' WHEN spd IS NULL THEN 'unknown' ELSE 'slow' END AS pace FROM r ORDER BY t
1 | fast
2 | unknown
3 | slow
1 | fast
NULL | slow
