-- the value of the largest and the smallest
SELECT max_by(owner, vid) AS a, min_by(owner, since) AS b, max_by(vid, owner) AS c FROM owners;
-- the value of the newest in groups
SELECT vid, max_by(spd, t) AS a, min_by(seg, t) AS b, max_by(pos, t) FILTER (WHERE spd > 50) AS c FROM posreports WHERE vid IS NOT NULL GROUP BY vid;
-- a key that is null is no largest
SELECT max_by(x, y) AS a, min_by(x, y) AS b FROM VALUES (1, 1), (NULL, 2), (NULL, 0), (4, CAST(NULL AS INT)) AS t(x, y);
-- only keys that are null
SELECT max_by(x, y) AS a, min_by(x, y) AS b FROM VALUES (1, CAST(NULL AS INT)), (2, NULL) AS t(x, y);
-- keys that are not numbers
SELECT max_by(x, y) AS a, min_by(x, y) AS b FROM VALUES (1, double('NaN')), (2, double('Infinity')), (3, 0.5D) AS t(x, y);
-- keys of other types
SELECT sensor, max_by(n, at) AS a, min_by(value, at) AS b, max_by(flag, at) AS c, max_by(day, at) AS d, max_by(amount, at) AS e FROM readings GROUP BY sensor;
-- the largest of no rows
SELECT max_by(spd, t) AS a FROM posreports WHERE vid < 0;
-- the largest of no groups
SELECT vid, max_by(spd, t) AS a FROM posreports WHERE vid < 0 GROUP BY vid;
-- the three largest
-- on: spark
SELECT max_by(owner, vid, 3) AS a FROM owners;
-- the largest as a window function
-- on: spark
SELECT vid, t, max_by(spd, t) OVER (PARTITION BY vid) AS a FROM posreports;
-- first and last of groups of one row
SELECT at, first(sensor) AS a, last(n) AS b, any_value(value) AS c, first_value(flag) AS d, last_value(amount) AS e FROM readings GROUP BY at;
-- first and last of equals
SELECT vid, first(vid) AS a, last(vid) AS b, any_value(vid % 2) AS c FROM posreports GROUP BY vid;
-- first and last that are not null
SELECT at, first(n, true) AS a, any_value(flag) IGNORE NULLS AS b, last(value) IGNORE NULLS AS c, first(sensor IGNORE NULLS) AS d FROM readings GROUP BY at;
-- first of no rows
SELECT first(vid) AS a, last(vid) AS b, any_value(vid) AS c FROM posreports WHERE vid < 0;
-- first of some rows
SELECT first(vid) FILTER (WHERE owner = 'Bo') AS a, last(vid) FILTER (WHERE owner = 'nobody') AS b FROM posreports JOIN owners USING (vid);
-- texts in an order
SELECT listagg(owner, ',') WITHIN GROUP (ORDER BY owner) AS a, string_agg(owner, '; ') WITHIN GROUP (ORDER BY owner DESC) AS b, listagg(owner) WITHIN GROUP (ORDER BY vid, owner) AS c FROM owners;
-- texts in an order in groups
SELECT flag, listagg(DISTINCT sensor, ',') WITHIN GROUP (ORDER BY sensor) AS a, listagg(sensor, '-') WITHIN GROUP (ORDER BY at DESC) AS b FROM readings GROUP BY flag;
-- one text in each group
SELECT at, listagg(sensor, '-') AS b, string_agg(sensor) AS c FROM readings GROUP BY at;
-- equal texts need no order
SELECT sensor, listagg(sensor, '-') AS b, listagg(sensor, ',') FILTER (WHERE n > 5) AS c FROM readings GROUP BY sensor;
-- texts of no rows
SELECT listagg(sensor, ',') AS a, listagg(sensor, ',') WITHIN GROUP (ORDER BY sensor) AS b FROM readings WHERE n = 5555;
-- numbers as texts
SELECT listagg(vid, ',') WITHIN GROUP (ORDER BY vid) AS a, listagg(vid, ', ') WITHIN GROUP (ORDER BY owner DESC, vid) AS b FROM owners;
-- distinct numbers as texts
-- on: spark
SELECT listagg(DISTINCT vid, ',') WITHIN GROUP (ORDER BY vid) AS a FROM owners;
-- doubles as texts
-- on: spark
SELECT listagg(value, ',') WITHIN GROUP (ORDER BY value) AS a FROM readings WHERE n = 7;
-- distinct texts in another order
-- on: spark
-- error
SELECT listagg(DISTINCT owner, ',') WITHIN GROUP (ORDER BY vid) AS a FROM owners;
