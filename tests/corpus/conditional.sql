-- case searched
SELECT vid, CASE WHEN spd > 70 THEN 'fast' WHEN spd > 30 THEN 'middle' ELSE 'slow' END AS a FROM posreports;
-- case without else
SELECT vid, CASE WHEN spd > 70 THEN 1 END AS a FROM posreports;
-- case of a value
SELECT CASE lane WHEN 0 THEN 'entry' WHEN 4 THEN 'exit' ELSE 'travel' END AS a FROM posreports;
-- case widens
SELECT CASE WHEN spd > 50 THEN 1 ELSE 2.5 END AS a, CASE WHEN spd > 50 THEN spd ELSE t END AS b, CASE WHEN spd > 50 THEN 1 ELSE 1D END AS c FROM posreports;
-- case with nulls
SELECT CASE WHEN spd > 50 THEN NULL ELSE spd END AS a, CASE WHEN spd > 50 THEN 'x' ELSE NULL END AS b FROM posreports;
-- a null as a condition
-- on: spark
-- error
SELECT CASE WHEN NULL THEN 1 ELSE 0 END AS a;
-- if
SELECT IF(spd > 50, 'a', 'b') AS a, IF(spd IS NULL, 0, spd) AS b FROM posreports;
-- coalesce
SELECT coalesce(spd, lane, 0) AS a, coalesce(spd, t) AS b, coalesce(NULL, seg, 1) AS c FROM posreports;
-- nvl and relatives
SELECT nvl(spd, -1) AS a, ifnull(lane, 9) AS b, nvl2(spd, 'yes', 'no') AS c, nullif(lane, 2) AS d, nullif(spd, 0D) AS e FROM posreports;
-- greatest and least pass over nulls
SELECT greatest(spd, lane, 10) AS a, least(spd, lane) AS b, greatest(spd, t) AS c, least(spd, 20.5) AS d FROM posreports;
-- coalesce of decimals
SELECT coalesce(amount, 0) AS a, coalesce(amount, 0.125) AS b, greatest(amount, 1) AS c FROM readings;
-- coalesce of times
SELECT coalesce(day, DATE '2000-01-01') AS a, coalesce(day, at) AS b, greatest(day, DATE '2024-06-01') AS c FROM readings;
-- greatest of a date and a text
-- on: spark
-- error
SELECT greatest(day, '2024-06-01') AS c FROM readings;
-- coalesce stops before an error
SELECT coalesce(1D, 1 / spd) AS a FROM posreports;
-- coalesce of a number and a text
-- on: spark
-- error
SELECT coalesce(spd, 'none') AS a FROM posreports WHERE spd IS NULL;
