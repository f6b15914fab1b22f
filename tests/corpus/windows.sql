-- row numbers
SELECT vid, t, row_number() OVER (PARTITION BY vid ORDER BY t, pos) AS r FROM posreports;
-- ranks
SELECT spd, rank() OVER (ORDER BY spd) AS a, dense_rank() OVER (ORDER BY spd DESC) AS b, percent_rank() OVER (ORDER BY spd) AS c, cume_dist() OVER (ORDER BY spd) AS d FROM posreports;
-- ntile
SELECT vid, t, ntile(4) OVER (ORDER BY t, vid, pos) AS a FROM posreports WHERE vid IS NOT NULL AND pos IS NOT NULL;
-- lag and lead
SELECT vid, t, lag(spd) OVER (PARTITION BY vid ORDER BY t) AS a, lead(spd, 2) OVER (PARTITION BY vid ORDER BY t) AS b, lag(seg, 1, -1) OVER (PARTITION BY vid ORDER BY t) AS c FROM posreports WHERE vid IS NOT NULL;
-- lag with ignored nulls
SELECT vid, t, lag(spd, 1) IGNORE NULLS OVER (PARTITION BY vid ORDER BY t) AS a, lead(spd) IGNORE NULLS OVER (PARTITION BY vid ORDER BY t) AS b FROM posreports WHERE vid IS NOT NULL;
-- lag of a wider default
-- on: spark
SELECT vid, t, lag(spd, 1, 0.5D) OVER (PARTITION BY vid ORDER BY t) AS a FROM posreports WHERE vid IS NOT NULL;
-- first and last values
SELECT vid, t, first_value(spd) OVER (PARTITION BY vid ORDER BY t) AS a, last_value(spd) OVER (PARTITION BY vid ORDER BY t) AS b, nth_value(spd, 2) OVER (PARTITION BY vid ORDER BY t) AS c FROM posreports WHERE vid IS NOT NULL;
-- first value with ignored nulls
SELECT vid, t, first_value(spd) IGNORE NULLS OVER (PARTITION BY vid ORDER BY t) AS a, last_value(spd) IGNORE NULLS OVER (PARTITION BY vid ORDER BY t) AS b FROM posreports WHERE vid IS NOT NULL;
-- running sums over the default frame
SELECT vid, t, sum(spd) OVER (PARTITION BY vid ORDER BY t) AS a, count(spd) OVER (PARTITION BY vid ORDER BY t) AS b, avg(spd) OVER (PARTITION BY vid ORDER BY t) AS c FROM posreports;
-- whole partitions
SELECT vid, spd, sum(spd) OVER (PARTITION BY vid) AS a, max(spd) OVER () AS b, count(*) OVER (PARTITION BY seg) AS c FROM posreports;
-- peers in the default frame
SELECT seg, lane, sum(spd) OVER (ORDER BY seg) AS a, count(*) OVER (ORDER BY seg DESC) AS b FROM posreports;
-- frames of rows
SELECT vid, t, sum(spd) OVER (PARTITION BY vid ORDER BY t ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a, avg(spd) OVER (PARTITION BY vid ORDER BY t ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS b, max(spd) OVER (PARTITION BY vid ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS c, min(spd) OVER (PARTITION BY vid ORDER BY t ROWS 3 PRECEDING) AS d FROM posreports WHERE vid IS NOT NULL;
-- frames of a range
SELECT vid, t, count(*) OVER (PARTITION BY seg ORDER BY t RANGE BETWEEN 60 PRECEDING AND CURRENT ROW) AS a, sum(spd) OVER (PARTITION BY seg ORDER BY t RANGE BETWEEN 30 PRECEDING AND 30 FOLLOWING) AS b FROM posreports;
-- frames of a range with nulls
SELECT lane, spd, count(*) OVER (PARTITION BY lane ORDER BY spd RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) AS a, count(spd) OVER (PARTITION BY lane ORDER BY spd DESC RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING) AS b FROM posreports;
-- frames of an interval
SELECT at, count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL '2' HOUR PRECEDING AND CURRENT ROW) AS a, sum(n) OVER (ORDER BY at RANGE BETWEEN INTERVAL '90' MINUTE PRECEDING AND CURRENT ROW) AS b FROM readings WHERE n BETWEEN -1000 AND 1000;
-- filter in a window
SELECT vid, t, count(*) FILTER (WHERE spd > 50) OVER (PARTITION BY vid ORDER BY t) AS a FROM posreports;
-- order with nulls last
SELECT spd, vid, t, row_number() OVER (ORDER BY spd NULLS LAST, vid, t, pos) AS a, rank() OVER (ORDER BY spd DESC NULLS FIRST) AS b FROM posreports WHERE vid IS NOT NULL;
-- windows over groups
SELECT seg, sum(spd) AS s, rank() OVER (ORDER BY sum(spd) DESC) AS r, sum(sum(spd)) OVER () AS total FROM posreports GROUP BY seg;
-- windows over expressions
SELECT vid, t, spd - lag(spd) OVER (PARTITION BY vid ORDER BY t) AS a, (t - lag(t, 1, 0L) OVER (PARTITION BY vid ORDER BY t)) / 30 AS b FROM posreports WHERE vid IS NOT NULL;
-- windows of truth and texts
SELECT at, bool_or(flag) OVER (ORDER BY at ROWS 2 PRECEDING) AS a, max(sensor) OVER (ORDER BY at ROWS 4 PRECEDING) AS b FROM readings;
-- a named window
SELECT vid, t, sum(spd) OVER w AS a, max(spd) OVER w AS b FROM posreports WINDOW w AS (PARTITION BY vid ORDER BY t);
-- window in where
-- error
SELECT vid FROM posreports WHERE row_number() OVER (ORDER BY t) = 1;
-- row numbers without order
-- on: spark
-- error
SELECT row_number() OVER () AS a FROM owners;
-- lag with a frame
-- on: spark
-- error
SELECT lag(t) OVER (ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS a FROM posreports;
-- distinct in a window
-- on: spark
-- error
SELECT count(DISTINCT spd) OVER (PARTITION BY vid) AS a FROM posreports;
-- qualify
SELECT vid, t, spd FROM posreports QUALIFY row_number() OVER (PARTITION BY vid ORDER BY t, pos, spd) = 1;
-- qualify by an alias
SELECT vid, t, rank() OVER (PARTITION BY vid ORDER BY t DESC) AS r FROM posreports WHERE vid IS NOT NULL QUALIFY r <= 2;
-- qualify of groups
-- on: spark
-- error
SELECT seg, count(*) AS c FROM posreports GROUP BY seg HAVING count(*) > 3 QUALIFY rank() OVER (ORDER BY count(*) DESC) <= 3;
-- qualify by an aggregate as a window function
SELECT vid, t FROM posreports QUALIFY spd = max(spd) OVER (PARTITION BY vid) AND vid > 110 ORDER BY vid, t;
-- qualify without a window function
-- error
SELECT vid, t FROM posreports QUALIFY vid > 110;
