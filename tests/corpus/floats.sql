-- NaN equals NaN
SELECT value FROM readings WHERE value = double('NaN');
-- NaN is largest
SELECT value FROM readings WHERE value > 1e300;
-- NaN in comparisons
SELECT value, value > 0 AS a, value < 0 AS b, value = value AS c, isnan(value) AS d FROM readings;
-- NaN in order
SELECT DISTINCT value FROM readings ORDER BY value;
-- NaN in descending order
SELECT value, at FROM readings ORDER BY value DESC, at;
-- NaN and zeros in groups
SELECT value, count(*) AS c FROM readings GROUP BY value;
-- NaN and zeros counted
SELECT count(DISTINCT value) AS a, count(value) AS b FROM readings;
-- extremes with NaN
SELECT min(value) AS a, max(value) AS b FROM readings;
-- NaN in joins
SELECT a.n, b.n AS m FROM readings a JOIN readings b ON a.value = b.value AND a.day < b.day;
-- greatest and least with NaN
SELECT greatest(value, 1D) AS a, least(value, 1D) AS b, greatest(value, NULL) AS c FROM readings;
-- sums with NaN
SELECT sensor, sum(value) AS a, avg(value) AS b FROM readings GROUP BY sensor;
-- sums of finite values
SELECT sensor, sum(value) AS a, avg(value) AS b FROM readings WHERE abs(value) < 1000 GROUP BY sensor;
-- infinity
SELECT value * 2 AS a, value - 1 AS b FROM readings WHERE value IN (CAST('Infinity' AS DOUBLE), CAST('-Infinity' AS DOUBLE));
-- zeros are equal
SELECT count(*) AS a FROM readings WHERE value = 0;
-- NaN in windows
SELECT at, value, rank() OVER (ORDER BY value) AS r FROM readings;
-- NaN in a set
SELECT value FROM readings INTERSECT SELECT value FROM readings WHERE n > 0;
