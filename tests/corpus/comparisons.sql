-- integers
SELECT vid, t FROM posreports WHERE spd > 50 AND lane <> 2 AND seg <= 5 AND NOT dir = 1;
-- INT with BIGINT and with fractions
SELECT vid, t FROM posreports WHERE t > vid AND spd > 30.5 AND spd < 90.25D;
-- INT with a text
SELECT vid, t FROM posreports WHERE vid = '105' OR seg = '3';
-- a column of text with a number
-- on: spark
-- error
SELECT sensor FROM readings WHERE sensor = 42;
-- decimals
SELECT amount FROM readings WHERE amount > 1 AND amount <= 10.25 AND amount <> 2.5;
-- decimals with doubles
SELECT amount, value FROM readings WHERE amount > value;
-- texts by bytes
SELECT sensor FROM readings WHERE sensor > 'a' AND sensor < 'zz';
-- equal texts
SELECT sensor, n FROM readings WHERE sensor = 'A1' OR sensor = '' OR sensor = 'héllo' OR sensor = ' pad ';
-- dates with texts
SELECT day FROM readings WHERE day >= '2024-02-29' AND day < DATE '2024-05-01';
-- timestamps with texts
SELECT at FROM readings WHERE at >= '2024-02-28 12:00:00' AND at < TIMESTAMP '2024-03-01 00:00:00';
-- timestamps with dates
SELECT at, day FROM readings WHERE at > day;
-- a timestamp with a short text
SELECT at FROM readings WHERE at < '2024-02-29';
-- booleans
SELECT flag, n FROM readings WHERE flag;
-- booleans compared
SELECT flag, flag = true AS a, flag <> true AS b, NOT flag AS c, flag IS TRUE AS d, flag IS NOT FALSE AS e FROM readings;
-- null-safe equality
SELECT a.vid, b.owner FROM posreports a JOIN owners b ON a.vid <=> b.vid;
-- null-safe with constants
SELECT spd <=> NULL AS a, spd <=> 0 AS b, spd IS DISTINCT FROM 0 AS c FROM posreports;
-- between
SELECT vid, t FROM posreports WHERE t BETWEEN 100 AND 200 AND spd NOT BETWEEN 30 AND 60.5;
-- in a list
SELECT vid, t FROM posreports WHERE seg IN (1, 3, 5) AND vid IN (101, 3000000000);
-- in a list with null
SELECT vid, t, seg IN (1, NULL) AS a, seg NOT IN (1, NULL) AS b FROM posreports;
-- in a list of texts
SELECT n FROM readings WHERE sensor IN ('a1', 'b2', NULL);
-- in a mixed list
SELECT value FROM readings WHERE value IN (1.5, 3, 0D);
-- is null
SELECT spd IS NULL AS a, spd IS NOT NULL AS b, isnull(lane) AS c, isnotnull(lane) AS d FROM posreports;
-- three-valued logic
SELECT a.flag AND b.flag AS x, a.flag OR b.flag AS y, NOT (a.flag AND b.flag) AS z FROM readings a, readings b WHERE a.n = 7 AND b.n = 3;
-- comparing null
SELECT vid FROM posreports WHERE spd = NULL;
-- equality written twice
SELECT vid FROM posreports WHERE vid == 104 AND spd != 50;
-- comparisons of comparisons
SELECT (spd > 50) = (lane > 2) AS a FROM posreports;
-- in several columns
-- on: spark
SELECT vid FROM posreports WHERE (vid, seg) IN (SELECT vid, 3 FROM owners);
