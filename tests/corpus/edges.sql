-- an aggregate with an alias of its own column
SELECT max(spd) AS spd FROM posreports GROUP BY vid HAVING max(spd) > 90;
-- having on a name that is both a column and an aggregate
SELECT vid, max(spd) AS spd FROM posreports GROUP BY vid HAVING spd > 95;
-- order by an aggregate under a hidden name
SELECT vid, max(spd) AS t FROM posreports GROUP BY vid ORDER BY t DESC, vid;
-- a constant key beside others
SELECT 'all' AS scope, dir, count(*) AS c FROM posreports GROUP BY dir;
-- case of integers is INT
SELECT CASE WHEN spd > 50 THEN 5 ELSE 6 END AS a, CASE dir WHEN 0 THEN 1 END AS b, IF(true, 1, 2) AS c FROM posreports;
-- literals under aggregates
SELECT sum(1) AS a, max(5) AS b, min('x') AS c, avg(2) AS d, sum(1.5) AS e, count(NULL) AS f FROM posreports;
-- sums of sums of decimals
SELECT sum(s) AS a, max(s) + 1 AS b FROM (SELECT sensor, sum(amount) AS s FROM readings GROUP BY sensor) AS q;
-- windows over decimals
SELECT at, sum(amount) OVER (ORDER BY at) AS a, lag(amount, 1, 0) OVER (ORDER BY at) AS b FROM readings;
-- windows over doubles
SELECT at, avg(value) OVER (ORDER BY at ROWS 3 PRECEDING) AS a FROM readings WHERE abs(value) < 100;
-- averages of BIGINT
SELECT sensor, avg(n) AS a, avg(n % 100) AS b FROM readings WHERE abs(n % 1000) < 500 GROUP BY sensor;
-- comparing decimals of different scale
SELECT amount, amount = 2.5 AS a, amount > 2.499 AS b, amount IN (1.5, 2.50, 3) AS c, amount BETWEEN 1 AND 10.255 AS d FROM readings;
-- comparing big integers with decimals and doubles
SELECT n, n > 1.5 AS a, n = 1e0 AS b, n < 9.3e18 AS c FROM readings;
-- BIGINT edges in comparisons
SELECT n FROM readings WHERE n >= 9223372036854775807 OR n <= -9223372036854775808 OR n IN (7, 4611686018427387904);
-- arithmetic on dates across years
SELECT DATE '2024-02-29' + INTERVAL '1' YEAR AS a, add_months(DATE '2024-02-29', 12) AS b, DATE '2023-12-31' + 1 AS c, datediff('2024-03-01', '2023-03-01') AS d;
-- weeks at the turn of a year
SELECT weekofyear(DATE '2024-12-30') AS a, weekofyear(DATE '2021-01-03') AS b, date_trunc('WEEK', TIMESTAMP '2021-01-03 10:00:00') AS c, extract(WEEK FROM DATE '2020-12-31') AS d;
-- timestamps before 1970
SELECT unix_timestamp(TIMESTAMP '1969-12-31 23:59:59') AS a, hour(TIMESTAMP '1969-12-31 23:59:59.999') AS b, date_trunc('HOUR', TIMESTAMP '1900-01-01 00:30:00') AS c, CAST(TIMESTAMP '1600-01-01 00:00:00' AS DATE) AS d;
-- old dates
SELECT year(DATE '0001-01-01') AS a, dayofweek(DATE '1582-10-15') AS b, DATE '1500-03-01' - 1 AS c, CAST(DATE '0999-01-01' AS STRING) AS d;
-- timestamps as text with fractions
SELECT CAST(TIMESTAMP '2024-01-01 00:00:00.120' AS STRING) AS a, CAST(TIMESTAMP '2024-01-01 00:00:00.000001' AS STRING) AS b, concat('at ', TIMESTAMP '2024-01-01 10:00:00') AS c;
-- strings that look alike
SELECT 'a' = 'a ' AS a, 'A' = 'a' AS b, 'é' = 'e\u0301' AS c, '' = ' ' AS d, 'Z' < 'a' AS e, 'é' > 'z' AS f;
-- empty patterns
SELECT sensor, sensor LIKE '' AS a, sensor LIKE '%' AS b, sensor LIKE '_%' AS c, sensor RLIKE '' AS d FROM readings;
-- rlike with sets and counts
SELECT sensor, sensor RLIKE '[^a-z]' AS a, sensor RLIKE '^[a-z]{2,}$' AS b, sensor RLIKE 'a.c|50' AS c, sensor RLIKE '\\w\\d' AS d, sensor RLIKE '^\\W' AS e FROM readings;
-- emoji
SELECT length('a😀b') AS a, substring('a😀b', 2, 1) AS b, upper('a😀ß') IS NULL AS c, lpad('😀', 3, 'ab') AS d, instr('a😀b', 'b') AS e, left('😀x', 1) AS f FROM owners WHERE vid < 0;
-- emoji without odd letters
SELECT length('a😀b') AS a, substring('a😀b', 2, 1) AS b, upper('a😀') AS c, lpad('😀', 3, 'ab') AS d, instr('a😀b', 'b') AS e, right('x😀', 1) AS f;
-- nulls in string functions
SELECT upper(owner) AS a, length(owner) AS b, substring(owner, -2, 1) AS c, replace(owner, 'A', owner) AS d, lpad(owner, 4, '-') AS e, owner LIKE 'A%' AS f, owner RLIKE 'a' AS g FROM owners;
-- nested cases
SELECT CASE WHEN spd IS NULL THEN 'none' WHEN spd = 0 THEN CASE WHEN lane = 1 THEN 'a' ELSE 'b' END ELSE upper(concat('s', spd div 10)) END AS a FROM posreports;
-- nested coalesce and nullif
SELECT coalesce(nullif(spd, 0), nullif(lane, 0), -1) AS a, nullif(coalesce(spd, 0), 0) IS NULL AS b FROM posreports;
-- division after nullif
SELECT 100 / nullif(spd, 0) AS a, 100 % nullif(lane, 0) AS b FROM posreports;
-- short circuit in a join and a having
SELECT lane, count(*) AS c FROM posreports WHERE lane IS NOT NULL GROUP BY lane HAVING lane <> 0 AND 100 / lane > 30;
-- or that guards
SELECT vid, t FROM posreports WHERE spd = 0 OR spd IS NULL OR 1000 / spd > 15;
-- and inside or
SELECT vid, t FROM posreports WHERE (spd <> 0 AND 100 div spd = 2) OR (lane <> 0 AND seg % lane = 1);
-- cast guarded by a pattern
SELECT CAST(sensor AS INT) AS a FROM readings WHERE sensor RLIKE '^[0-9]+$' AND CAST(sensor AS INT) > 5;
-- case guards a cast
SELECT CASE WHEN sensor = '42' THEN CAST(sensor AS INT) ELSE -1 END AS a FROM readings;
-- in a case
-- on: spark
SELECT vid, CASE WHEN vid IN (SELECT vid FROM owners) THEN 'owned' ELSE 'free' END AS a FROM posreports;
-- exists in the output
SELECT vid, EXISTS (SELECT 1 FROM posreports p WHERE p.vid = o.vid AND p.spd = 0) AS a, CASE WHEN NOT EXISTS (SELECT 1 FROM posreports p WHERE p.vid = o.vid) THEN 'free' END AS b FROM owners o;
-- not in below or
-- on: spark
SELECT vid FROM owners WHERE vid > 120 OR vid NOT IN (SELECT seg + 99 FROM criticalsegs WHERE seg IS NOT NULL);
-- in below or and and
SELECT vid FROM owners WHERE vid > 120 OR (vid IN (SELECT seg + 99 FROM criticalsegs) AND owner <> 'Ada');
-- not in correlated
SELECT vid, t FROM posreports p WHERE p.seg NOT IN (SELECT c.seg FROM criticalsegs c WHERE c.seg > p.lane AND c.seg IS NOT NULL);
-- a correlated subquery beside aggregates
-- error
-- on: spark
SELECT o.vid, max(o.since) AS a, (SELECT max(p.t) FROM posreports p WHERE p.vid = o.vid) AS b FROM owners o GROUP BY o.vid;
-- a with that hides the table it reads
WITH owners AS (SELECT vid, owner FROM owners WHERE vid < 105) SELECT vid, owner FROM owners;
-- pairs of doubles counted
SELECT count(DISTINCT value, flag) AS a, count(DISTINCT value, n) AS b FROM readings;
-- windows by doubles
SELECT at, value, count(*) OVER (PARTITION BY value) AS a, row_number() OVER (PARTITION BY value ORDER BY at) AS b FROM readings;
-- not in with a null outside
SELECT vid, vid NOT IN (100, 101) AS a FROM owners;
-- in a query with a null outside
-- on: spark
SELECT vid, vid IN (SELECT seg + 99 FROM criticalsegs WHERE seg IS NOT NULL) AS b FROM owners;
-- semi and anti with extra conditions
SELECT p.vid, p.t FROM posreports p LEFT SEMI JOIN criticalsegs c ON p.seg = c.seg AND p.t > c.seg * 20;
-- two joins of the same table
SELECT o.vid, a.name, b.name AS other FROM owners o LEFT JOIN criticalsegs a ON a.seg = o.vid % 10 LEFT JOIN criticalsegs b ON b.seg = o.vid % 7;
-- join of grouped sides
SELECT a.seg, a.c, b.m FROM (SELECT seg, count(*) AS c FROM posreports GROUP BY seg) AS a JOIN (SELECT seg, max(spd) AS m FROM posreports GROUP BY seg) AS b ON a.seg <=> b.seg;
-- union of different literals
SELECT 1 AS x UNION ALL SELECT 1.5 UNION ALL SELECT 2e0;
-- union of texts and null
SELECT 'a' AS x UNION SELECT NULL UNION SELECT 'a';
-- except over doubles
SELECT value FROM readings EXCEPT SELECT value FROM readings WHERE value > 0;
-- distinct over everything
SELECT DISTINCT value, flag, amount FROM readings WHERE n IN (0, 1, 7);
-- limit above the rows
SELECT vid, owner FROM owners ORDER BY vid, owner LIMIT 1000 OFFSET 3;
-- offset alone
SELECT vid, owner FROM owners ORDER BY vid, owner OFFSET 10;
-- three levels of names
SELECT q.a FROM (SELECT r.a FROM (SELECT vid AS a FROM owners) AS r WHERE r.a > 110) AS q;
-- a cte used twice
WITH q AS (SELECT seg, count(*) AS c FROM posreports GROUP BY seg) SELECT a.seg, b.seg AS other FROM q a JOIN q b ON a.c = b.c AND a.seg < b.seg;
-- windows in an expression of groups
SELECT dir, count(*) AS c, 100 * count(*) / sum(count(*)) OVER () AS share, lag(count(*)) OVER (ORDER BY dir) AS before FROM posreports GROUP BY dir;
-- a frame without rows
SELECT vid, t, sum(spd) OVER (PARTITION BY vid ORDER BY t ROWS BETWEEN 3 FOLLOWING AND 5 FOLLOWING) AS a, count(*) OVER (PARTITION BY vid ORDER BY t ROWS BETWEEN 3 FOLLOWING AND 5 FOLLOWING) AS b FROM posreports WHERE vid IS NOT NULL;
-- descending ranges
SELECT t, vid, count(*) OVER (ORDER BY t DESC RANGE BETWEEN 60 PRECEDING AND 30 PRECEDING) AS a FROM posreports;
-- ranks within ties and nulls
SELECT lane, spd, rank() OVER (PARTITION BY lane ORDER BY spd DESC) AS a, cume_dist() OVER (PARTITION BY lane ORDER BY spd) AS b, percent_rank() OVER (PARTITION BY dir ORDER BY seg) AS c FROM posreports;
-- ntile of few rows
SELECT vid, owner, ntile(5) OVER (ORDER BY vid, owner) AS a, ntile(100) OVER (ORDER BY vid, owner) AS b FROM owners;
-- lead of texts with a default
SELECT vid, lead(owner, 1, 'last') OVER (ORDER BY vid, owner) AS a, lag(since, 2) OVER (ORDER BY vid, owner) AS b FROM owners;
-- ceil and floor of negatives
SELECT ceil(-0.5D) AS a, floor(-0.5D) AS b, ceil(-1.5) AS c, floor(1.99) AS d, round(-1.5) AS e, round(-1.005, 2) AS f;
-- mixed arithmetic with decimals
SELECT amount * 1.5 + 1 AS a, (amount + 1) * 2 AS b, amount - n AS c, 2 * amount * 3 AS d, amount + 0.001 AS e FROM readings WHERE n < 1000 AND n > -1000;
-- decimals times counts
SELECT sensor, sum(amount) * 2 AS a, max(amount) - min(amount) AS b, sum(amount + 1) AS c FROM readings GROUP BY sensor;
-- decimals too wide
-- on: spark
SELECT sum(amount) * sum(amount) AS a, CAST(amount AS DECIMAL(38, 18)) * amount AS b FROM readings GROUP BY amount;
-- small types
SELECT CAST(vid AS SMALLINT) / 2 AS a, CAST(spd AS TINYINT) AS b, sum(CAST(lane AS TINYINT)) AS c, max(CAST(seg AS SMALLINT)) AS d FROM posreports WHERE spd < 100 GROUP BY vid, spd;
-- truth in aggregates
SELECT sensor, bool_and(flag) AS a, bool_or(flag) AS b, max(flag) AS c, count_if(flag) AS d, min(flag) AS e FROM readings GROUP BY sensor;
-- sum of truth
-- on: spark
-- error
SELECT sum(flag) AS a FROM readings;
-- average of dates
-- on: spark
-- error
SELECT avg(day) AS a FROM readings;
