-- plus minus times on INT
SELECT vid, spd + 1 AS a, spd - lane AS b, spd * pos AS c, -spd AS d FROM posreports;
-- INT with BIGINT
SELECT t + vid AS a, t * 2 AS b, 2 * t - seg AS c FROM posreports;
-- INT overflows
-- error
SELECT spd + 2147483647 AS a FROM posreports;
-- INT times INT overflows
-- error
SELECT 100000 * vid * 1000 AS a FROM posreports WHERE vid IS NOT NULL;
-- BIGINT overflows
-- error
SELECT n + 1 AS a FROM readings WHERE n = 9223372036854775807;
-- minus of the smallest overflows
-- error
SELECT -n AS a FROM readings;
-- abs of the smallest overflows
-- error
SELECT abs(n) AS a FROM readings;
-- division of integers is double
SELECT vid, spd / 7 AS a, pos / vid AS b, t / 60 AS c, 1 / 3 AS d FROM posreports;
-- division by zero
-- error
SELECT vid / spd AS a FROM posreports;
-- division of doubles by zero
-- error
SELECT 1.5D / value AS a FROM readings;
-- division guarded by a condition
SELECT vid, 100 / spd AS a FROM posreports WHERE spd <> 0;
-- division guarded in the same condition
SELECT vid, t FROM posreports WHERE spd <> 0 AND 100 / spd > 2;
-- division guarded in a projection
SELECT vid, t, spd = 0 OR 100 / spd > 2 AS a, spd <> 0 AND 100 / spd > 2 AS b FROM posreports;
-- division guarded by CASE
SELECT vid, t, CASE WHEN spd = 0 THEN NULL ELSE 100 / spd END AS a, IF(spd = 0, 0D, 100 / spd) AS b FROM posreports;
-- null divided by zero
SELECT CAST(NULL AS INT) / 0 AS a, CAST(NULL AS INT) % 0 AS b;
-- div truncates and is BIGINT
SELECT pos div 5280 AS a, -7 div 2 AS b, 7 div -2 AS c, n div 7 AS d FROM posreports, (SELECT -15L AS n);
-- div by zero
-- error
SELECT vid div spd AS a FROM posreports;
-- div of the smallest BIGINT by minus one
-- error
SELECT n div -1 AS a FROM readings;
-- div of the smallest INT by minus one
SELECT -2147483648 div -1 AS a;
-- remainder follows the dividend
SELECT -7 % 3 AS a, 7 % -3 AS b, vid % 8 AS c, n % 5 AS d, mod(n, 5) AS e, value % 2 AS f FROM readings, owners WHERE vid < 104;
-- remainder by zero
-- error
SELECT vid % lane AS a FROM posreports;
-- positive remainder
SELECT pmod(n, 5) AS a, pmod(-7, 3) AS b FROM readings WHERE n > -9223372036854775800 AND n < 9223372036854775800;
-- decimals add
SELECT amount + amount AS a, amount - 0.125 AS b, amount + 1 AS c, amount + n AS d FROM readings;
-- decimals multiply
SELECT amount * 2 AS a, amount * 1.10 AS b, amount * amount AS c, -amount AS d FROM readings;
-- decimals with doubles
SELECT amount + value AS a, amount * 1.5D AS b, value * 2.5 AS c, amount / 4D AS d FROM readings;
-- division of decimals
-- on: spark
SELECT amount / 3 AS a FROM readings;
-- doubles
SELECT value + 1 AS a, value * 2 AS b, value - value AS c, value / 2 AS d, -value AS e FROM readings;
-- round of doubles
SELECT value, round(value) AS a, round(value, 1) AS b, round(value, 2) AS c FROM readings WHERE value <> 1e15;
-- round of a large double
-- on: spark
SELECT round(value, 1) AS a FROM readings WHERE value = 1e15;
-- round of averages
SELECT seg, round(avg(spd), 2) AS a, round(avg(spd)) AS b FROM posreports GROUP BY seg;
-- round half up
SELECT round(2.5D) AS a, round(-2.5D) AS b, round(2.675D, 2) AS c, round(1.005D, 2) AS d, round(0.285D, 2) AS e, round(-0.5D) AS f;
-- round of decimals
SELECT round(amount) AS a, round(amount, 1) AS b, round(amount, 4) AS c, round(spd, 2) AS d FROM readings, posreports WHERE t = 60;
-- round to tens
-- on: spark
SELECT round(pos, -1) AS a FROM posreports;
-- floor and ceil
SELECT floor(value) AS a, ceil(value) AS b FROM readings WHERE value > -1e9 AND value < 1e9;
-- floor of NaN
-- on: spark
SELECT floor(value) AS a FROM readings WHERE isnan(value);
-- floor and ceil of other types
SELECT floor(amount) AS a, ceil(amount) AS b, floor(n) AS c, ceiling(vid) AS d FROM readings, owners;
-- sign and square root
SELECT sqrt(value) AS a, sqrt(spd) AS b, sign(value) AS c, sign(spd) AS d FROM readings, posreports WHERE t < 35;
-- absolute values
SELECT abs(value) AS a, abs(amount) AS b, abs(spd - 50) AS c FROM readings, posreports WHERE t < 35;
-- bits
SELECT vid & 7 AS a, vid | 8 AS b, vid ^ 3 AS c, ~vid AS d, t & 255 AS e FROM posreports;
-- powers and logarithms
-- on: spark
SELECT power(spd, 2) AS a, ln(spd + 1) AS b FROM posreports;
-- constants fold
SELECT 1 + 2 * 3 AS a, (1 + 2) * 3 AS b, -(5) AS c, 7 - -1 AS d;
-- constants overflow
-- error
SELECT 2147483647 + 1 AS a;
-- nested negation
SELECT -(-vid) AS a, - (vid + 1) AS b FROM owners;
-- small integers
SELECT CAST(5 AS TINYINT) + 1 AS a, CAST(5 AS TINYINT) + CAST(7 AS TINYINT) AS b, CAST(5 AS SMALLINT) * 2 AS c;
-- TINYINT overflows
-- error
SELECT CAST(127 AS TINYINT) + CAST(1 AS TINYINT) AS a;
-- the smallest TINYINT has no opposite
-- error
SELECT -(~127Y) AS a;
-- a computed number beside a decimal has the digits of its type
SELECT amount + (1 - 0) AS a, amount + 1 AS b, amount * -3 AS c, amount - (-3) AS d FROM readings;
-- a cast number beside a decimal
-- on: spark
SELECT amount + CAST(1 AS BIGINT) AS a, amount + 1L AS b FROM readings;
-- floor and ceil of a decimal without a scale
SELECT floor(3.) AS a, ceil(CAST(7 AS DECIMAL(20, 0))) AS b, floor(-2.5) AS c;
-- the opposite of a decimal of more digits than Spark keeps
-- on: spark
SELECT -CAST(amount AS DECIMAL(36, 2)) AS a FROM readings;
-- the size of such a decimal
-- on: spark
SELECT abs(CAST(amount AS DECIMAL(36, 2))) AS a FROM readings;
