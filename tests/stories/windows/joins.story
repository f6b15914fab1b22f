# windows join with windows, tables and standard tables; each use is its own
> CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE STANDARD TABLE names (seg INT, name STRING)
> INSERT INTO names VALUES (1, 'bridge'), (2, 'tunnel')
feed r
10 | 1 | 0
11 | 1 | 5
10 | 2 | 10
12 | 2 | 12
? SELECT a.vid, b.vid AS other, n.name FROM r [vid ROWS 1] AS a JOIN r [vid ROWS 1] AS b ON a.seg = b.seg AND a.vid < b.vid
    JOIN names n ON n.seg = a.seg
: vid | other | name
10 | 12 | tunnel

? SELECT new.vid, old.seg, new.seg FROM r [vid ROWS 1] AS new JOIN r AS old ON old.vid = new.vid AND old.seg <> new.seg
: vid | seg | seg
10 | 1 | 2

?~ SELECT * FROM r [INTERVAL 2] AS a LEFT JOIN names ON names.seg = a.seg AND name = 'bridge'
10 | 2 | NULL | NULL
12 | 2 | NULL | NULL

? SELECT count(*) FROM r [ROWS 2], r [INTERVAL 100] AS x
8

? WITH last AS (SELECT vid, seg FROM r [vid ROWS 1]) SELECT seg, count(*) AS cars FROM last GROUP BY seg ORDER BY seg
1 | 1
2 | 2
