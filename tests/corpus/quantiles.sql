-- quantiles
SELECT percentile(spd, 0.3) AS a, percentile(spd, 0) AS b, percentile(pos, 1) AS c, median(spd) AS d, percentile_cont(0.37) WITHIN GROUP (ORDER BY spd) AS e, percentile_cont(0.37) WITHIN GROUP (ORDER BY spd DESC) AS f, percentile_disc(0.37) WITHIN GROUP (ORDER BY spd) AS g, percentile_disc(0.37) WITHIN GROUP (ORDER BY spd DESC) AS h FROM posreports;
-- quantiles of groups
SELECT vid, percentile(spd, 0.3) AS a, percentile(spd, 0) AS b, percentile(pos, 1) AS c, median(spd) AS d, percentile_cont(0.37) WITHIN GROUP (ORDER BY spd) AS e, percentile_cont(0.37) WITHIN GROUP (ORDER BY spd DESC) AS f, percentile_disc(0.37) WITHIN GROUP (ORDER BY spd) AS g, percentile_disc(0.37) WITHIN GROUP (ORDER BY spd DESC) AS h FROM posreports GROUP BY vid;
-- quantiles of other types
SELECT sensor, percentile(value, 0.3) AS a, percentile(n, 0.95) AS b, percentile(amount, 0.5) AS c, median(value) AS d, percentile_cont(0.37) WITHIN GROUP (ORDER BY value) AS e, percentile_cont(0.37) WITHIN GROUP (ORDER BY n DESC) AS f, percentile_disc(0.37) WITHIN GROUP (ORDER BY value) AS g, percentile_disc(0.37) WITHIN GROUP (ORDER BY amount DESC) AS h FROM readings GROUP BY sensor;
-- quantiles of infinities
SELECT percentile(x, 0.3) AS a, percentile(x, 0.6) AS b, percentile(x, 0.1) AS c, percentile(x, 0.9) AS d FROM VALUES (double('-Infinity')), (double('-Infinity')), (3e0), (double('Infinity')), (double('Infinity')) AS t(x);
-- quantiles of large numbers
SELECT percentile(x, 0.7) AS a, percentile(x, 0.5) AS b FROM VALUES (1e308), (-1e308), (double('Infinity')), (double('-Infinity')) AS t(x);
-- quantiles of no rows
SELECT percentile(spd, 0.3) AS a, median(spd) AS b, percentile_cont(0.1) WITHIN GROUP (ORDER BY spd) AS c, percentile_disc(0.1) WITHIN GROUP (ORDER BY spd) AS d, mode(spd) AS e, percentile_approx(spd, 0.1) AS f FROM posreports WHERE vid < 0;
-- quantiles of one row
SELECT percentile(x, 0.3) AS a, median(x) AS b, percentile_cont(0.1) WITHIN GROUP (ORDER BY x) AS c, percentile_disc(0.1) WITHIN GROUP (ORDER BY x) AS d, mode(x) AS e, percentile_approx(x, 0.1) AS f FROM VALUES (7), (NULL) AS t(x);
-- quantiles of some rows
SELECT percentile(DISTINCT spd, 0.3) AS a, median(DISTINCT spd) AS b, percentile(spd, 0.5) FILTER (WHERE lane = 1) AS c, percentile_cont(0.5) WITHIN GROUP (ORDER BY spd) FILTER (WHERE lane > 2) AS d FROM posreports;
-- quantiles of computed values
SELECT seg, median(spd * 2 + 1) AS a, percentile(pos / 3, 0.9) AS b FROM posreports GROUP BY seg HAVING median(spd) > 40;
-- quantiles with frequencies
-- on: spark
SELECT percentile(spd, 0.5, 2) AS a, percentile(spd, 0.5, lane) AS b FROM posreports;
-- several quantiles at once
-- on: spark
SELECT percentile(spd, array(0.5, 0.9)) AS a FROM posreports;
-- quantile at more than one
-- on: spark
-- error
SELECT percentile(spd, 1.5) AS a FROM posreports;
-- quantiles of texts
-- on: spark
SELECT percentile(x, 0.5) AS a FROM VALUES ('1'), ('2') AS t(x);
-- quantiles as window functions
-- on: spark
SELECT vid, median(spd) OVER (PARTITION BY vid) AS a FROM posreports;
-- approximate quantiles of few rows
SELECT vid, percentile_approx(spd, 0.3) AS a, percentile_approx(spd, 0.5, 100) AS b, approx_percentile(pos, 0.99) AS c, percentile_approx(t, 0.25) AS d, percentile_approx(spd, 0) AS e, percentile_approx(spd, 1) AS f FROM posreports GROUP BY vid;
-- approximate quantiles of other types
SELECT sensor, percentile_approx(value, 0.3) AS a, percentile_approx(n, 0.5) AS b, percentile_approx(amount, 0.99) AS c, percentile_approx(at, 0.25) AS d, percentile_approx(day, 0.5) AS e FROM readings GROUP BY sensor;
-- approximate quantiles at the ends
SELECT percentile_approx(n, 1) AS a, percentile_approx(n, 0) AS b, percentile_approx(n, 0.0001) AS c, percentile_approx(n, 0.99995) AS d, percentile_approx(DISTINCT n, 0.5) AS e, percentile_approx(n, 0.5) FILTER (WHERE n > 5) AS f FROM readings;
-- modes
SELECT vid, mode(spd, true) AS a, mode() WITHIN GROUP (ORDER BY seg) AS b, mode() WITHIN GROUP (ORDER BY seg DESC) AS c, mode(vid) AS d FROM posreports GROUP BY vid;
-- modes of other types
SELECT flag, mode(value, true) AS a, mode() WITHIN GROUP (ORDER BY sensor) AS b, mode() WITHIN GROUP (ORDER BY value DESC) AS c, mode(amount, true) AS d, mode(day, true) AS e, mode(flag) AS f FROM readings GROUP BY flag;
-- mode of what is not a number
SELECT mode(x, true) AS a FROM VALUES (double('NaN')), (double('NaN')), (double('NaN')), (1D), (1D) AS t(x);
-- distinct values estimated
-- on: spark
SELECT approx_count_distinct(vid) AS a FROM posreports;
