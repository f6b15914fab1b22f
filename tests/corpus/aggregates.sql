-- counts
SELECT count(*) AS a, count(spd) AS b, count(DISTINCT spd) AS c, count(1) AS d FROM posreports;
-- counts of several columns
SELECT count(DISTINCT spd, lane) AS a, count(DISTINCT seg, xway, dir) AS b FROM posreports;
-- sums and averages of integers
SELECT sum(spd) AS a, avg(spd) AS b, sum(t) AS c, avg(t) AS d, min(spd) AS e, max(pos) AS f FROM posreports;
-- averages in groups are exact
SELECT vid, avg(spd) AS a, avg(pos) AS b, avg(DISTINCT lane) AS c, sum(DISTINCT lane) AS d FROM posreports GROUP BY vid;
-- no rows
SELECT count(*) AS a, sum(spd) AS b, avg(spd) AS c, max(vid) AS d, count(DISTINCT vid, t) AS e FROM posreports WHERE vid < 0;
-- no rows in groups
SELECT vid, count(*) AS a FROM posreports WHERE vid < 0 GROUP BY vid;
-- sum overflows
-- error
SELECT sum(n) AS a FROM readings WHERE n > 4000000000000000000;
-- sum of decimals
SELECT sensor, sum(amount) AS a, min(amount) AS b, max(amount) AS c FROM readings GROUP BY sensor;
-- average of decimals
SELECT avg(amount) AS a, avg(amount * 2) AS b, avg(-amount) AS c, avg(CAST(amount AS DECIMAL(18, 6))) AS d, avg(CAST(amount AS DECIMAL(20, 4))) AS e, avg(CAST(amount AS DECIMAL(23, 7))) AS f FROM readings;
-- average of decimals in groups
SELECT sensor, avg(amount) AS a, avg(DISTINCT amount) AS b, avg(amount) FILTER (WHERE n > 3) AS c FROM readings GROUP BY sensor;
-- average of no decimals
SELECT avg(amount) AS a FROM readings WHERE n = 5555;
-- average of decimals is rounded half up
SELECT avg(x) AS a, avg(-x) AS b FROM VALUES (0.01), (0.00), (0.00), (0.00), (0.00), (0.00), (0.00), (0.00) AS t(x);
-- average of decimals as a window function
SELECT at, avg(amount) OVER (ORDER BY at ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS a FROM readings;
-- average of long decimals
-- on: spark
SELECT avg(CAST(amount AS DECIMAL(30, 2))) AS a FROM readings;
-- filter
SELECT vid, count(*) FILTER (WHERE spd > 50) AS a, sum(spd) FILTER (WHERE lane = 1) AS b, avg(spd) FILTER (WHERE seg < 3) AS c FROM posreports GROUP BY vid;
-- filter before an error
-- on: spark
-- error
SELECT seg, avg(100 div spd) FILTER (WHERE spd > 0) AS b FROM posreports GROUP BY seg;
-- count_if and truth
SELECT count_if(spd > 50) AS a, bool_and(spd >= 0) AS b, bool_or(spd = 0) AS c, every(lane < 5) AS d, some(lane = 9) AS e FROM posreports;
-- having
SELECT vid, count(*) AS c FROM posreports GROUP BY vid HAVING count(*) > 19 AND max(spd) > 90;
-- having without groups
SELECT max(spd) AS m FROM posreports HAVING count(*) > 1;
-- having on an alias
SELECT vid, avg(spd) AS pace FROM posreports GROUP BY vid HAVING pace > 55;
-- group by position and alias
SELECT spd div 10 AS bucket, lane, count(*) AS c FROM posreports GROUP BY 1, lane;
-- group by alias
SELECT spd div 10 AS bucket, count(*) AS c FROM posreports GROUP BY bucket;
-- an alias that hides a column
SELECT vid % 2 AS vid, count(*) AS c FROM posreports GROUP BY vid;
-- expressions of keys
SELECT (vid + 1) * 2 AS a, spd / 2 AS b, count(*) AS c FROM posreports GROUP BY vid + 1, spd / 2;
-- expressions of aggregates
SELECT seg, max(spd) - min(spd) AS a, sum(spd) / count(spd) AS b, sum(pos) * 2 AS c, -max(t) AS d FROM posreports GROUP BY seg HAVING count(spd) > 0;
-- keys that are not shown
SELECT count(*) AS c FROM posreports GROUP BY seg, dir;
-- groups of null
SELECT lane, dir, count(*) AS c, sum(spd) AS s FROM posreports GROUP BY lane, dir;
-- groups by truth
SELECT flag, spd > 50 AS fast, count(*) AS c FROM readings, posreports WHERE t < 60 GROUP BY flag, spd > 50;
-- group by case
SELECT CASE WHEN spd > 50 THEN 'fast' ELSE 'slow' END AS kind, count(*) AS c FROM posreports GROUP BY CASE WHEN spd > 50 THEN 'fast' ELSE 'slow' END;
-- group by division
SELECT 100 / spd AS a, count(*) AS c FROM posreports WHERE spd > 0 GROUP BY 100 / spd;
-- rollup
SELECT xway, dir, count(*) AS c, grouping(xway) AS g, grouping(dir) AS h FROM posreports GROUP BY ROLLUP (xway, dir);
-- with rollup
SELECT xway, dir, sum(spd) AS s, grouping_id() AS g FROM posreports GROUP BY xway, dir WITH ROLLUP;
-- cube
SELECT xway, dir, lane, count(*) AS c, grouping_id(xway, dir, lane) AS g FROM posreports GROUP BY CUBE (xway, dir, lane);
-- grouping sets
SELECT xway, dir, max(spd) AS m FROM posreports GROUP BY GROUPING SETS ((xway, dir), (dir), ());
-- rollup beside a key
SELECT xway, dir, lane, count(*) AS c FROM posreports GROUP BY xway, ROLLUP (dir, lane);
-- having in a rollup
SELECT xway, dir, count(*) AS c FROM posreports GROUP BY ROLLUP (xway, dir) HAVING grouping(dir) = 1;
-- column not in groups
-- error
SELECT vid, spd, count(*) AS c FROM posreports GROUP BY vid;
-- aggregate in where
-- error
SELECT vid FROM posreports WHERE count(*) > 1;
-- deviation
SELECT stddev(spd) AS a, var_pop(spd) AS b FROM posreports;
-- deviations of groups
SELECT vid, stddev_samp(spd) AS a, stddev_pop(pos) AS b, variance(spd) AS c, var_samp(t) AS d, var_pop(spd * 2.5e0) AS e, count(*) AS n FROM posreports GROUP BY vid;
-- deviations of nothing
SELECT stddev(spd) AS a, stddev_pop(spd) AS b, var_pop(spd) AS c, corr(spd, pos) AS d, covar_pop(spd, pos) AS e FROM posreports WHERE t < 0;
-- deviations of one row
SELECT stddev(spd) AS a, stddev_pop(spd) AS b, var_pop(spd) AS c, corr(spd, pos) AS d, covar_samp(spd, pos) AS e FROM (SELECT * FROM posreports ORDER BY t, vid LIMIT 1);
-- deviations of some rows
SELECT seg, stddev(spd) FILTER (WHERE lane > 1) AS a, corr(spd, pos) FILTER (WHERE lane > 1) AS b, var_pop(DISTINCT spd) AS c FROM posreports GROUP BY seg;
-- deviations of doubles with nulls
SELECT sensor, stddev(value) AS a, corr(value, n) AS b, covar_samp(n, value) AS c FROM readings GROUP BY sensor;
-- deviations of decimals
-- on: spark
SELECT sensor, stddev(amount) AS a FROM readings GROUP BY sensor;
-- correlations
SELECT seg, corr(spd, pos) AS a, covar_pop(spd, t) AS b, covar_samp(spd, vid) AS c, corr(spd, 1) AS d FROM posreports GROUP BY seg;
-- a series with another
SELECT corr(a.spd, b.spd) AS c, count(*) AS n FROM posreports a JOIN posreports b ON a.t = b.t AND a.vid < b.vid;
-- deviation as a window function
-- on: spark
SELECT vid, t, stddev(spd) OVER (PARTITION BY vid ORDER BY t) AS a FROM posreports;
-- collected
SELECT size(collect_set(lane)) AS a FROM posreports;
-- distinct rows
SELECT DISTINCT seg, dir FROM posreports;
-- distinct of aggregates
SELECT DISTINCT count(*) AS c FROM posreports GROUP BY vid;
-- group by all
-- on: spark
SELECT seg, count(*) AS c FROM posreports GROUP BY ALL;
-- sum of a sum
SELECT sum(c) AS s, max(c) AS m FROM (SELECT vid, count(*) AS c FROM posreports GROUP BY vid) AS q;
-- a key of grouping sets in HAVING that is no output
-- on: spark
SELECT sum(spd) AS s FROM posreports GROUP BY seg WITH CUBE HAVING seg > 3;
-- conditions as keys of grouping sets
SELECT count(*) AS a FROM posreports GROUP BY CUBE (lane, seg IS NULL);
-- conditions of all kinds as keys of a rollup
SELECT count(*) AS a FROM posreports GROUP BY ROLLUP (lane > 1 AND dir = 0, seg NOT IN (1, 2), spd NOT BETWEEN 10 AND 50, NOT lane = 1, seg IS DISTINCT FROM 3);
-- conditions in lists of grouping sets
SELECT count(*) AS a FROM posreports GROUP BY GROUPING SETS ((lane, seg NOT IN (1)), seg NOT IN (1), ());
-- constants that are computed, as keys of grouping sets
-- on: spark
SELECT count(*) AS a, max(spd) AS b FROM posreports GROUP BY GROUPING SETS ((), (~ CAST(3 AS BIGINT)));
