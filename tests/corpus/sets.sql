-- union all
SELECT vid FROM owners UNION ALL SELECT seg FROM criticalsegs;
-- union
SELECT vid FROM owners UNION SELECT vid FROM posreports;
-- intersect
SELECT vid FROM owners INTERSECT SELECT vid FROM posreports;
-- except
SELECT vid FROM owners EXCEPT SELECT vid FROM posreports;
-- minus
SELECT vid FROM owners MINUS SELECT vid FROM posreports;
-- except all
SELECT seg FROM posreports EXCEPT ALL SELECT seg FROM criticalsegs;
-- intersect all
SELECT seg, dir FROM posreports INTERSECT ALL SELECT seg, dir FROM posreports WHERE t < 200;
-- union widens
SELECT vid FROM owners UNION ALL SELECT t FROM posreports WHERE t < 40;
-- union widens to decimal and double
SELECT vid AS a, 1 AS b FROM owners UNION ALL SELECT 1.5, 2.5D;
-- union of nulls
SELECT vid, owner FROM owners UNION ALL SELECT NULL, 'none';
-- union of dates
SELECT since FROM owners UNION SELECT day FROM readings WHERE n > 0;
-- union of date and timestamp
SELECT since AS x FROM owners UNION ALL SELECT at FROM readings;
-- union of number and text
-- on: spark
-- error
SELECT vid FROM owners UNION ALL SELECT owner FROM owners;
-- union ordered
SELECT vid, 'o' AS kind FROM owners WHERE vid < 105 UNION ALL SELECT seg, 'c' FROM criticalsegs ORDER BY vid DESC, kind;
-- union limited
SELECT vid FROM owners UNION SELECT seg FROM criticalsegs ORDER BY vid LIMIT 5;
-- three sides
SELECT vid FROM owners UNION ALL SELECT seg FROM criticalsegs UNION SELECT 1;
-- intersect binds tighter
SELECT 1 AS x UNION ALL SELECT 2 INTERSECT SELECT 2;
-- parentheses
(SELECT 1 AS x UNION ALL SELECT 2) EXCEPT (SELECT 2 UNION SELECT 3);
-- limited sides
(SELECT vid FROM posreports WHERE vid IS NOT NULL ORDER BY vid LIMIT 2) UNION ALL (SELECT seg FROM criticalsegs ORDER BY seg DESC LIMIT 2);
-- in a subquery
SELECT count(*) AS c, sum(x) AS s FROM (SELECT vid AS x FROM owners UNION ALL SELECT seg FROM criticalsegs) AS q;
-- different widths
-- on: spark
-- error
SELECT vid FROM owners UNION ALL SELECT seg, name FROM criticalsegs;
-- with distinct sides
SELECT DISTINCT dir FROM posreports UNION ALL SELECT DISTINCT CAST(dir AS BIGINT) FROM posreports;
