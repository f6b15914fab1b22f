-- in
SELECT vid, t FROM posreports WHERE seg IN (SELECT seg FROM criticalsegs);
-- not in with null
SELECT vid, t FROM posreports WHERE seg NOT IN (SELECT seg FROM criticalsegs);
-- not in without null
SELECT vid, t FROM posreports WHERE seg NOT IN (SELECT seg FROM criticalsegs WHERE seg IS NOT NULL);
-- not in an empty set
SELECT count(*) AS c FROM posreports WHERE seg NOT IN (SELECT seg FROM criticalsegs WHERE seg > 100);
-- in with different types
SELECT vid, t FROM posreports WHERE spd IN (SELECT CAST(seg AS BIGINT) * 10 FROM criticalsegs) AND t IN (SELECT vid FROM posreports);
-- exists
SELECT vid, owner FROM owners o WHERE EXISTS (SELECT 1 FROM posreports p WHERE p.vid = o.vid AND p.spd = 0);
-- not exists
SELECT vid, owner FROM owners o WHERE NOT EXISTS (SELECT * FROM posreports p WHERE p.vid = o.vid);
-- exists on an inequality
SELECT a.vid FROM owners a WHERE EXISTS (SELECT 1 FROM owners b WHERE b.since > a.since AND b.vid < a.vid);
-- exists or another condition
SELECT vid, owner FROM owners o WHERE vid > 125 OR EXISTS (SELECT 1 FROM posreports p WHERE p.vid = o.vid AND p.seg = 3);
-- exists not correlated
SELECT vid FROM owners WHERE EXISTS (SELECT 1 FROM criticalsegs WHERE seg = 9);
-- in correlated
SELECT vid, owner FROM owners o WHERE 0 IN (SELECT spd FROM posreports p WHERE p.vid = o.vid);
-- scalar
SELECT vid, t, spd FROM posreports WHERE spd > (SELECT avg(spd) FROM posreports);
-- scalar in the output
SELECT vid, (SELECT max(spd) FROM posreports) AS top, (SELECT name FROM criticalsegs WHERE seg = 3) AS name FROM owners;
-- scalar without a row
SELECT vid, (SELECT seg FROM criticalsegs WHERE seg = 99) AS nothing FROM owners;
-- scalar with several rows
-- error
SELECT vid, (SELECT seg FROM criticalsegs) AS several FROM owners;
-- scalar correlated
SELECT vid, t, spd FROM posreports p WHERE spd > (SELECT avg(q.spd) FROM posreports q WHERE q.vid = p.vid);
-- scalar count correlated
SELECT vid, owner, (SELECT count(*) FROM posreports p WHERE p.vid = o.vid) AS reports, (SELECT max(p.t) FROM posreports p WHERE p.vid = o.vid) AS latest FROM owners o;
-- scalar correlated on an inequality
-- on: spark
SELECT vid, (SELECT count(*) FROM owners b WHERE b.since < a.since) AS earlier FROM owners a;
-- scalar correlated with limit
-- on: spark
SELECT vid, (SELECT max(t) FROM posreports p WHERE p.vid = o.vid LIMIT 1) AS t FROM owners o;
-- from a subquery
SELECT q.vid, q.c FROM (SELECT vid, count(*) AS c FROM posreports GROUP BY vid) AS q WHERE q.c > 19;
-- nested
SELECT max(c) AS m FROM (SELECT seg, count(*) AS c FROM (SELECT DISTINCT vid, seg FROM posreports) AS d GROUP BY seg) AS q;
-- with
WITH fast AS (SELECT vid, t, spd FROM posreports WHERE spd > 80), counted AS (SELECT vid, count(*) AS c FROM fast GROUP BY vid) SELECT f.vid, f.t, c.c FROM fast f JOIN counted c ON f.vid = c.vid;
-- with named columns
WITH q(a, b) AS (SELECT vid, count(*) FROM posreports GROUP BY vid) SELECT a, b + 1 AS c FROM q;
-- with hiding a table
WITH owners AS (SELECT 1 AS vid) SELECT vid FROM owners;
-- with inside a subquery
SELECT * FROM (WITH q AS (SELECT seg FROM criticalsegs) SELECT seg FROM q WHERE seg > 3) AS r;
-- with used in a predicate
WITH q AS (SELECT vid FROM owners WHERE owner = 'Ada') SELECT t FROM posreports WHERE vid IN (SELECT vid FROM q);
-- recursive
-- on: spark
WITH RECURSIVE q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q WHERE n < 5) SELECT n FROM q;
-- values
SELECT x, y FROM VALUES (1, 'a'), (2, NULL), (3, 'c') AS q(x, y);
-- values of several types
SELECT * FROM VALUES (1, 1.5, 1), (2, 2, 3000000000), (NULL, 0.25, NULL) AS q(x, y, z);
-- values without names
SELECT * FROM (VALUES (1, true), (2, false)) AS q;
-- values joined
SELECT o.owner, q.label FROM owners o JOIN VALUES (100, 'first'), (115, 'twice') AS q(vid, label) ON o.vid = q.vid;
-- types through subqueries
SELECT a + 1 AS x, b / 2 AS y, c + c AS z FROM (SELECT sum(spd) AS a, count(*) AS b, sum(amount) AS c FROM posreports, readings WHERE t < 35 AND n > 0) AS q;
-- named columns of a subquery
SELECT a, b FROM (SELECT seg, name FROM criticalsegs) AS q(a, b);
