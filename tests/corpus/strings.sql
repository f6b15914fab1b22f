-- length
SELECT sensor, length(sensor) AS a, char_length('日本') AS b FROM readings;
-- upper and lower
SELECT upper(sensor) AS a, lower(sensor) AS b FROM readings;
-- upper of a sharp s
-- on: spark
SELECT upper(concat(sensor, 'ß')) AS a FROM readings;
-- concat with null
SELECT concat(sensor, '-', n) AS a, sensor || 'x' AS b, concat_ws('|', sensor, n, 'z') AS c FROM readings;
-- concat_ws with a null separator
SELECT concat_ws(CAST(NULL AS STRING), sensor, 'a') AS a FROM readings;
-- substring
SELECT substring(sensor, 1, 2) AS a, substr(sensor, 2) AS b, substring(sensor, 0, 2) AS c, substring(sensor, 3, 0) AS d FROM readings;
-- substring from the end
SELECT substring(sensor, -2, 1) AS a, substring(sensor, -3) AS b, substring(sensor, -4, 3) AS c, substring('abc', -5, 3) AS d FROM readings;
-- left and right
SELECT left(sensor, 2) AS a, right(sensor, 2) AS b, left(sensor, 0) AS c FROM readings;
-- trim
SELECT trim(sensor) AS a, ltrim(sensor) AS b, rtrim(sensor) AS c, trim(BOTH 'a' FROM sensor) AS d, trim(LEADING 'a1' FROM sensor) AS e, btrim(sensor, 'z') AS f FROM readings;
-- trim keeps tabs
SELECT trim('\t a \n') AS a;
-- pad
SELECT lpad(sensor, 5, '*') AS a, rpad(sensor, 5, 'xy') AS b, lpad(sensor, 1, '*') AS c, rpad(sensor, 3) AS d, lpad(sensor, 0, 'x') AS e FROM readings;
-- positions
SELECT instr(sensor, 'a') AS a, locate('1', sensor) AS b, position('l' IN sensor) AS c, instr(sensor, '') AS d, instr(sensor, '本') AS e FROM readings;
-- locate from a place
-- on: spark
SELECT locate('a', sensor, 2) AS a FROM readings;
-- replace and repeat
SELECT replace(sensor, 'a', 'bb') AS a, replace(sensor, 'l', '') AS b, repeat(sensor, 2) AS c, replace(sensor, '', 'x') AS d FROM readings;
-- like
SELECT sensor FROM readings WHERE sensor LIKE 'a%' OR sensor LIKE '%l_o' OR sensor LIKE '__';
-- like with escapes
SELECT sensor, sensor LIKE '50\%' AS a, sensor LIKE 'a\_c' AS b, sensor LIKE 'a!_c' ESCAPE '!' AS c, sensor LIKE 'a_c' AS d FROM readings;
-- like across lines
SELECT sensor FROM readings WHERE sensor LIKE 'x%y' AND sensor NOT LIKE 'z%';
-- ilike
SELECT sensor FROM readings WHERE sensor ILIKE 'a%' OR sensor ILIKE 'H_LLO';
-- rlike
SELECT sensor, sensor RLIKE '^[a-z][0-9]$' AS a, sensor RLIKE 'l+' AS b, regexp_like(sensor, '^(a|b)') AS c FROM readings;
-- rlike with dots and line ends
SELECT sensor, sensor RLIKE 'x.y' AS a, sensor RLIKE '^x' AS b, sensor RLIKE '.o$' AS c, concat(sensor, '\n') RLIKE '1$' AS d, sensor RLIKE '^\\d+$' AS e FROM readings;
-- rlike with a look-ahead
-- on: spark
SELECT sensor FROM readings WHERE sensor RLIKE 'a(?=1)';
-- starts, ends, contains
SELECT startswith(sensor, 'a') AS a, endswith(sensor, '1') AS b, contains(sensor, 'l') AS c, contains(sensor, '') AS d FROM readings;
-- split into a column
-- on: spark
SELECT split(sensor, '_') AS a FROM readings;
-- initcap and reverse
-- on: spark
SELECT initcap(sensor) AS a, reverse(sensor) AS b FROM readings;
-- extremes of texts
SELECT min(sensor) AS a, max(sensor) AS b, count(DISTINCT sensor) AS c FROM readings;
-- order of texts
SELECT DISTINCT sensor FROM readings ORDER BY sensor DESC;
-- concat of many types
SELECT concat(vid, '/', since, '/', vid > 105) AS a FROM owners;
-- like with a column
-- on: spark
SELECT a.owner FROM owners a, owners b WHERE a.owner LIKE b.owner;
