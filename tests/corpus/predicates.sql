-- doubles with whole numbers, decimals and doubles
SELECT k, x FROM prices WHERE x < 20 OR x = 19.95 OR x > 1e3 OR x <> 2.5D;
-- not less is greater or equal, also of NaN
SELECT k, x, NOT (x < 5) AS a, x >= 5 AS b, NOT (x > 5) AS c, x <= 5 AS d FROM prices;
-- NaN and infinity as constants
SELECT k, x = double('NaN') AS a, x < double('NaN') AS b, x >= CAST('NaN' AS DOUBLE) AS c, x > double('Infinity') AS d FROM prices;
-- NaN in a list
SELECT k, x IN (2.5, double('NaN')) AS a, x NOT IN (0, 20) AS b, x IN (-0.0) AS c FROM prices;
-- a FLOAT is compared as a DOUBLE
SELECT k, f = 0.1 AS a, f < 0.1 AS b, f > 0.1 AS c, f = 16777217 AS d, f = 16777216L AS e, f = 2.5D AS g, f = 2.5 AS h FROM prices;
-- a FLOAT in a list and between
SELECT k, f IN (0.1, 2.5, 16777216) AS a, f NOT IN (2) AS b, f BETWEEN 0 AND 19.95 AS c FROM prices;
-- a FLOAT with a FLOAT literal
-- on: spark
SELECT k, f = 0.1F AS a, f IN (0.1F, 1) AS b, x = 0.1F AS c FROM prices;
-- a FLOAT with other columns
SELECT k, f = x AS a, f < k AS b, f >= x AS c, f <> f AS d FROM prices;
-- a FLOAT with other numbers in one column
SELECT k, coalesce(f, 1) AS a, coalesce(f, 0.1) AS b, coalesce(f, 1Y) AS c, coalesce(f, 3000000000) AS d, coalesce(f, x) AS e FROM prices;
-- a FLOAT with whole numbers in a union
SELECT f AS v FROM prices UNION ALL SELECT k FROM prices;
-- a FLOAT in a CASE
SELECT k, CASE WHEN flag THEN f ELSE k END AS a, CASE WHEN flag THEN 1.5 ELSE f END AS b, if(flag, f, 2) AS c FROM prices;
-- a FLOAT in a join
SELECT p.k, q.k AS l FROM prices p JOIN prices q ON p.f = q.k;
-- decimals with more digits than the column
SELECT k, a, a < 19.995 AS b, a = 19.995 AS c, a <> 19.995 AS d, a >= 19.995 AS e, a IN (19.99, 19.995, 20) AS g FROM prices;
-- decimals with whole numbers and typed decimals
SELECT k, a < 20 AS b, a >= 20L AS c, a = 2BD AS d, a = 20BD AS e, a = 19.99BD AS g, b > -9999999999999999.99 AS h FROM prices;
-- fractions only
SELECT k, c < 1 AS a, c > -1 AS b, c = 0.5 AS d, c < 0.9999999999999999985 AS e, c >= 0 AS g FROM prices;
-- decimals with a DOUBLE literal
SELECT k, a < 2e1 AS b, a = 19.99D AS c FROM prices;
-- decimals of one scale with each other
SELECT k, a < b AS c, a = b AS d, a >= b + 0.01 AS e, a - 0.005 < b AS g FROM prices;
-- doubles with each other and sums of them
SELECT k, x < f AS a, x = x AS b, x < x + 0.5 AS c, x - 0.1 >= x AS d, k < x AS e FROM prices;
-- truth values
SELECT k FROM prices WHERE flag;
-- truth values that are not
SELECT k FROM prices WHERE NOT flag;
-- truth values compared
SELECT k, flag = TRUE AS a, flag <> TRUE AS b, flag < TRUE AS c, flag IN (FALSE) AS d, flag IS TRUE AS e, flag IS NOT FALSE AS g FROM prices;
