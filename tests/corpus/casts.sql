-- double to integers truncates
SELECT CAST(value AS INT) AS a, CAST(value AS BIGINT) AS b FROM readings WHERE abs(value) < 1000;
-- half values to INT
SELECT CAST(2.5D AS INT) AS a, CAST(-2.5D AS INT) AS b, CAST(3.5D AS INT) AS c, int(1.999D) AS d;
-- double out of range
-- error
SELECT CAST(value AS INT) AS a FROM readings WHERE value = 1e15;
-- NaN to INT
-- error
SELECT CAST(value AS INT) AS a FROM readings;
-- decimal to integers truncates
SELECT CAST(amount AS INT) AS a, CAST(amount AS BIGINT) AS b, CAST(-2.5 AS INT) AS c FROM readings;
-- decimal to narrower decimal rounds
SELECT CAST(amount AS DECIMAL(10, 1)) AS a, CAST(amount AS DECIMAL(12, 4)) AS b, CAST(2.45 AS DECIMAL(3, 1)) AS c FROM readings;
-- decimal out of range
-- error
SELECT CAST(amount AS DECIMAL(5, 2)) AS a FROM readings;
-- decimal to double and text
SELECT CAST(amount AS DOUBLE) AS a, CAST(amount AS STRING) AS b FROM readings;
-- integers to others
SELECT CAST(n AS DOUBLE) AS a, CAST(n AS STRING) AS b, CAST(n AS BOOLEAN) AS c, CAST(vid AS BIGINT) AS d FROM readings, owners WHERE vid < 102;
-- integers to decimal
SELECT CAST(vid AS DECIMAL(10, 2)) AS a, CAST(n AS DECIMAL(20, 0)) AS b FROM readings, owners WHERE vid < 102;
-- BIGINT to INT overflows
-- error
SELECT CAST(n AS INT) AS a FROM readings;
-- BIGINT to INT that fits
SELECT CAST(t AS INT) AS a, CAST(vid AS SMALLINT) AS b FROM posreports;
-- booleans
SELECT CAST(flag AS INT) AS a, CAST(flag AS STRING) AS b, CAST(flag AS BIGINT) AS c FROM readings;
-- text to INT
SELECT CAST('42' AS INT) AS a, CAST('-7' AS BIGINT) AS b, CAST('true' AS BOOLEAN) AS c, CAST('1.5' AS DOUBLE) AS d;
-- text column to INT
SELECT CAST(sensor AS INT) AS a FROM readings WHERE sensor = '42';
-- odd text to INT
-- on: spark
SELECT CAST(' 7 ' AS INT) AS a;
-- wrong text to INT
-- on: spark
-- error
SELECT CAST(sensor AS INT) AS a FROM readings;
-- wrong literal to INT
-- on: spark
-- error
SELECT CAST('abc' AS INT) AS a;
-- text to date and timestamp
SELECT CAST('2024-02-29' AS DATE) AS a, CAST('2024-02-29 01:02:03.5' AS TIMESTAMP) AS b, to_date('2024-03-01') AS c, to_timestamp('2024-03-01 00:00:00') AS d;
-- computed text to date
SELECT CAST(concat('2024-01-', CAST(10 + seg AS STRING)) AS DATE) AS a FROM criticalsegs;
-- timestamp to date and back
SELECT CAST(at AS DATE) AS a, CAST(day AS TIMESTAMP) AS b FROM readings;
-- times to text
SELECT CAST(at AS STRING) AS a, CAST(day AS STRING) AS b FROM readings;
-- timestamp to seconds
SELECT CAST(at AS BIGINT) AS a, unix_timestamp(at) AS b, CAST(TIMESTAMP '1969-12-31 23:59:58.5' AS BIGINT) AS c FROM readings;
-- double to text
-- on: spark
SELECT CAST(value AS STRING) AS a FROM readings;
-- double to decimal
-- on: spark
SELECT CAST(value AS DECIMAL(10, 2)) AS a FROM readings WHERE abs(value) < 100;
-- a length in a cast is not kept
SELECT CAST(sensor AS VARCHAR(3)) AS a, CAST(vid AS STRING) AS b FROM readings, owners WHERE vid < 102;
-- colon cast
SELECT vid::BIGINT AS a, '5'::INT AS b, spd::DOUBLE AS c FROM owners JOIN posreports USING (vid);
-- days before the year 1 as text
-- on: spark
SELECT CAST(DATE '0001-01-01' - 2 AS STRING) AS a FROM criticalsegs;
-- days after the year 9999 as text
-- on: spark
SELECT CAST(date_add(DATE '9999-12-31', 1) AS STRING) AS a FROM criticalsegs;
-- the first and the last day as text
SELECT CAST(DATE '0001-01-01' AS STRING) AS a, CAST(TIMESTAMP '9999-12-31 23:59:59.999999' AS STRING) AS b, concat('on ', day) AS c FROM readings;
-- a decimal without digits before the point as text
SELECT CAST(0.05 AS STRING) AS a, CAST(-0.5 AS STRING) AS b, concat('x', 0.0) AS c, CAST(CAST(0.25 AS DECIMAL(4, 4)) AS STRING) AS d;
-- tried casts of texts
SELECT try_cast(x AS BIGINT) AS b, try_cast(x AS TINYINT) AS c, try_cast(x AS BOOLEAN) AS d, try_cast(x AS INT) AS e FROM VALUES ('7'), ('-12'), ('+5'), ('1.5'), ('abc'), (''), ('300'), ('99999999999999999999'), ('true'), ('YES'), ('n'), ('0x1'), ('1_000'), ('--1'), ('1e3'), ('007'), (' 7 '), ('  '), ('1 2'), ('é'), (' True '), ('+'), ('٣'), (CAST(NULL AS STRING)) AS t(x);
-- tried casts of a column of texts
SELECT sensor, try_cast(sensor AS INT) AS a FROM readings WHERE sensor IN ('a1', '42', '50%', '', 'A1');
-- tried casts of texts to doubles
SELECT try_cast(x AS DOUBLE) AS a FROM VALUES ('7'), ('-12.25'), ('abc'), (''), ('1e3'), ('x1'), ('1e-5'), (CAST(NULL AS STRING)) AS t(x);
-- tried casts of texts to dates
SELECT try_cast(x AS DATE) AS a FROM VALUES ('2024-02-29'), ('2023-02-29'), ('2024-13-01'), (CAST(NULL AS STRING)) AS t(x);
-- tried casts of texts to timestamps
SELECT try_cast(x AS TIMESTAMP) AS a FROM VALUES ('2024-02-29 01:02:03'), ('2023-02-29 01:02:03'), ('2024-02-29 25:00:00'), ('2024-02-29 23:59:59.123456'), (CAST(NULL AS STRING)) AS t(x);
-- tried casts of numbers
SELECT try_cast(n AS INT) AS a, try_cast(value AS INT) AS b, try_cast(amount AS TINYINT) AS c, try_cast(n AS DECIMAL(5, 2)) AS d, try_cast(amount AS DECIMAL(4, 1)) AS e, try_cast(n AS STRING) AS f, try_cast(day AS STRING) AS g, try_cast(flag AS INT) AS h FROM readings;
-- tried casts of unusual texts
-- on: spark
SELECT try_cast(sensor AS INT) AS a, try_cast(sensor AS DOUBLE) AS b FROM readings;
-- tried cast of doubles to bigint
-- on: spark
SELECT try_cast(value AS BIGINT) AS a FROM readings;
