-- integers are INT, then BIGINT
SELECT 1 AS a, 2147483647 AS b, 2147483648 AS c, -2147483648 AS d, -2147483649 AS e, 9223372036854775807 AS f;
-- the smallest BIGINT
SELECT -9223372036854775808 AS a, -1 AS b;
-- decimals
SELECT 1.5 AS a, 0.05 AS b, 100.0 AS c, 1.50 AS d, .5 AS e, 0.0 AS f, -2.75 AS g;
-- doubles
SELECT 1e0 AS a, 1.5D AS b, 1.5e-3 AS c, -2e10 AS d, 0.1D AS e;
-- suffixes
SELECT 1L AS a, 2S AS b, 3Y AS c, 1.5BD AS d;
-- texts
SELECT 'a' AS a, 'it\'s' AS b, "double" AS c, '' AS d, 'ü日' AS e;
-- a doubled quote is a quote
SELECT 'it''s' AS a, "x""y" AS b;
-- escapes in texts
SELECT 'a\nb' AS a, 'tab\t' AS b, 'back\\slash' AS c, r'raw\n' AS d;
-- truth
SELECT true AS a, false AS b, NULL IS NULL AS c;
-- dates and timestamps
SELECT DATE '2024-02-29' AS a, TIMESTAMP '2024-02-29 12:30:00' AS b, TIMESTAMP '2024-02-29 12:30:00.25' AS c, DATE'1969-12-31' AS d;
-- NaN and infinity
SELECT double('NaN') AS a, CAST('Infinity' AS DOUBLE) AS b, CAST('-Infinity' AS DOUBLE) AS c;
-- typed nulls
SELECT CAST(NULL AS INT) AS a, CAST(NULL AS STRING) AS b, CAST(NULL AS TIMESTAMP) AS c, CAST(NULL AS DECIMAL(10, 2)) AS d;
-- a bare null
-- on: spark
SELECT NULL AS a;
-- an integer beyond BIGINT
-- on: spark
SELECT 9223372036854775808 AS a;
-- an interval
-- on: spark
SELECT INTERVAL '1' DAY AS a;
-- an array
-- on: spark
SELECT array(1, 2, 3) AS a;
-- constants beside rows
SELECT 1 AS one, 'x' AS x, vid FROM owners;
