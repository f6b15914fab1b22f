-- nulls first
SELECT spd, t, vid, pos FROM posreports ORDER BY spd, t, vid, pos;
-- nulls last when descending
SELECT spd, t, vid, pos FROM posreports ORDER BY spd DESC, t DESC, vid DESC, pos DESC;
-- nulls where asked
SELECT seg, name FROM criticalsegs ORDER BY seg NULLS LAST;
-- by position
SELECT seg, count(*) AS c FROM posreports GROUP BY seg ORDER BY 2 DESC, 1;
-- by alias
SELECT vid, max(spd) AS top FROM posreports GROUP BY vid ORDER BY top DESC, vid;
-- by an alias that hides a column
SELECT -vid AS vid, owner FROM owners ORDER BY vid, owner;
-- by an expression of an alias
SELECT seg AS s, name FROM criticalsegs ORDER BY s * -1;
-- by a hidden column
SELECT owner FROM owners ORDER BY since, vid;
-- by an aggregate that is not shown
SELECT seg FROM posreports GROUP BY seg ORDER BY count(*) DESC, seg;
-- by a computed key
SELECT vid, owner FROM owners ORDER BY vid % 3, vid, owner;
-- limit and offset
SELECT vid, t FROM posreports WHERE vid IS NOT NULL ORDER BY t, vid LIMIT 10 OFFSET 5;
-- limit of nothing
SELECT vid FROM posreports LIMIT 0;
-- limit in a subquery
SELECT count(*) AS c FROM (SELECT vid FROM posreports LIMIT 7) AS q;
-- distinct in order
SELECT DISTINCT seg, dir FROM posreports ORDER BY seg DESC, dir;
-- by texts and dates
SELECT owner, since FROM owners ORDER BY owner, since DESC;
-- by truth
SELECT flag, at FROM readings ORDER BY flag, at;
-- by decimals
SELECT amount, at FROM readings ORDER BY amount DESC, at;
-- by a case
SELECT vid, owner FROM owners ORDER BY CASE WHEN owner = 'Ada' THEN 0 ELSE 1 END, vid, owner;
-- sort by
-- on: spark
SELECT vid FROM owners SORT BY vid;
