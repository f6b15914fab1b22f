-- reports of a car in a time
SELECT vid, t, seg FROM posreports WHERE t >= 100 AND t < 400 AND vid = 104;
-- segment statistics by minute
SELECT xway, dir, seg, t div 60 AS minute, count(DISTINCT vid) AS cars, avg(spd) AS lav FROM posreports GROUP BY xway, dir, seg, t div 60;
-- latest report of each car
SELECT vid, t, seg, spd FROM (SELECT vid, t, seg, spd, row_number() OVER (PARTITION BY vid ORDER BY t DESC, pos) AS r FROM posreports) AS q WHERE r = 1;
-- previous report
SELECT vid, t, seg, lag(seg) OVER (PARTITION BY vid ORDER BY t) AS before, t - lag(t) OVER (PARTITION BY vid ORDER BY t) AS gap FROM posreports WHERE vid IS NOT NULL;
-- crossings
SELECT vid, t, seg FROM (SELECT vid, t, seg, lag(seg) OVER (PARTITION BY vid ORDER BY t) AS before FROM posreports WHERE vid IS NOT NULL) AS q WHERE seg <> before OR before IS NULL;
-- stopped cars
SELECT vid, xway, pos, min(t) AS since, max(t) AS until, count(*) AS reports FROM posreports WHERE spd = 0 GROUP BY vid, xway, pos HAVING count(*) >= 4;
-- accidents by self join
SELECT DISTINCT a.xway, a.dir, a.seg, a.pos, a.t FROM posreports a JOIN posreports b ON a.xway = b.xway AND a.pos = b.pos AND a.t = b.t AND a.vid <> b.vid WHERE a.spd = 0 AND b.spd = 0;
-- stopped near each other
SELECT a.vid, b.vid AS other, a.seg, a.t FROM posreports a JOIN posreports b ON a.seg = b.seg AND a.vid < b.vid AND b.t BETWEEN a.t - 30 AND a.t + 30 WHERE a.spd = 0 AND b.spd = 0;
-- top three segments
SELECT seg, avg(spd) AS pace, count(*) AS n FROM posreports WHERE seg IS NOT NULL GROUP BY seg ORDER BY n DESC, seg LIMIT 3;
-- top two cars of each segment
SELECT seg, vid, top FROM (SELECT seg, vid, max(spd) AS top, row_number() OVER (PARTITION BY seg ORDER BY max(spd) DESC, vid) AS r FROM posreports GROUP BY seg, vid) AS q WHERE r <= 2;
-- tolls
WITH stats AS (SELECT seg, t div 60 AS minute, count(DISTINCT vid) AS cars, avg(spd) AS lav FROM posreports GROUP BY seg, t div 60) SELECT seg, minute, CASE WHEN lav < 60 AND cars > 2 THEN 2 * (cars - 2) * (cars - 2) ELSE 0 END AS toll FROM stats;
-- balances
SELECT o.owner, coalesce(sum(p.spd), 0) AS total, count(p.vid) AS reports FROM owners o LEFT JOIN posreports p ON p.vid = o.vid GROUP BY o.owner;
-- moving average of five minutes
SELECT seg, minute, avg(lav) OVER (PARTITION BY seg ORDER BY minute ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING) AS five FROM (SELECT seg, t div 60 AS minute, avg(spd) AS lav FROM posreports GROUP BY seg, t div 60) AS q;
-- cars in critical segments
SELECT c.name, count(DISTINCT p.vid) AS cars, min(p.t) AS first, max(p.t) AS last FROM posreports p JOIN criticalsegs c ON p.seg = c.seg GROUP BY c.name ORDER BY c.name;
-- cars never seen
SELECT o.vid, o.owner FROM owners o LEFT ANTI JOIN posreports p ON o.vid = p.vid;
-- density by bucket
SELECT floor(spd / 10) AS bucket, count(*) AS n, min(vid) AS example FROM posreports WHERE spd IS NOT NULL GROUP BY floor(spd / 10) ORDER BY bucket;
-- share of each lane
SELECT lane, count(*) AS n, count(*) / sum(count(*)) OVER () AS share FROM posreports GROUP BY lane;
-- hourly readings
SELECT date_trunc('HOUR', at) AS hour, sensor, count(*) AS n, max(amount) AS top FROM readings WHERE at >= TIMESTAMP '2024-02-28 00:00:00' GROUP BY date_trunc('HOUR', at), sensor;
-- gaps in time
SELECT vid, t, next FROM (SELECT vid, t, lead(t) OVER (PARTITION BY vid ORDER BY t) AS next FROM posreports WHERE vid IS NOT NULL) AS q WHERE next - t > 30;
-- slower than usual
SELECT p.vid, p.t, p.spd, u.usual FROM posreports p JOIN (SELECT vid, avg(spd) AS usual FROM posreports GROUP BY vid) AS u ON p.vid = u.vid WHERE p.spd < u.usual / 2;
