-- names of expressions
SELECT vid, spd + 1, count(*), sum(spd), max(t) - min(t) FROM posreports GROUP BY vid, spd;
-- names of constants
SELECT 1, 'abc', 1.5, true, -3;
-- names of functions
SELECT upper(owner), length(owner), coalesce(owner, 'x'), abs(vid), concat(owner, '!') FROM owners;
-- names of conditions
SELECT spd > 5, spd IS NULL, lane = 2 AND seg <> 3, NOT spd > 5, CASE WHEN spd > 1 THEN 1 ELSE 0 END FROM posreports;
-- names of casts
SELECT CAST(vid AS BIGINT), CAST(t AS DOUBLE), count(DISTINCT spd), p.vid FROM posreports p GROUP BY vid, t;
-- names Spark makes long
-- names: ours
SELECT row_number() OVER (PARTITION BY vid ORDER BY t, pos), round(spd / 3, 1), (SELECT max(seg) FROM criticalsegs) FROM posreports;
-- spelling is kept
SELECT VID, Owner AS WHO, since Since FROM OWNERS ORDER BY Vid, who;
-- a star has the table's spelling
SELECT * FROM Owners;
-- a star over an alias keeps the alias's spelling
SELECT * FROM (SELECT vid AS CarId, OWNER FROM owners) AS Q;
-- twice the same name
SELECT vid, vid, spd AS vid FROM posreports;
-- a quoted name
SELECT vid AS `the car`, owner AS `select` FROM owners;
-- a name with a double quote
SELECT vid AS `a"b` FROM owners;
-- aliases used sideways
SELECT spd + 1 AS a, a * 2 AS b, a + b AS c FROM posreports;
-- a column comes before an alias sideways
SELECT spd + 1 AS t, t + 1 AS b FROM posreports;
-- qualified stars
SELECT o.*, c.name FROM owners o, criticalsegs c;
-- star beside columns
SELECT *, vid + 1 AS next FROM owners;
-- unknown column
-- on: spark
-- error
SELECT sped FROM posreports;
-- unknown function
-- on: spark
-- error
SELECT frobnicate(vid) AS a FROM posreports;
-- a CTE in another case
WITH Named AS (SELECT seg FROM criticalsegs) SELECT n.seg FROM NAMED n JOIN `named` m ON n.seg = m.seg;
-- case of an operand in brackets
SELECT CASE (k) WHEN 1 THEN 'a' ELSE 'b' END, sum(CASE (x / 2) WHEN 1D THEN 2 END) FROM n GROUP BY k;
