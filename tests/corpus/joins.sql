-- inner
SELECT p.vid, p.t, o.owner FROM posreports p JOIN owners o ON p.vid = o.vid;
-- left
SELECT p.vid, p.t, o.owner FROM posreports p LEFT JOIN owners o ON p.vid = o.vid AND o.owner <> 'Ada';
-- right
SELECT p.t, o.vid, o.owner FROM posreports p RIGHT OUTER JOIN owners o ON p.vid = o.vid AND p.spd > 90;
-- full
SELECT c.seg, c.name, o.vid, o.owner FROM criticalsegs c FULL OUTER JOIN owners o ON c.seg + 100 = o.vid;
-- full on an inequality
SELECT c.seg, o.vid FROM criticalsegs c FULL JOIN owners o ON c.seg * 20 > o.vid;
-- cross
SELECT c.name, o.owner FROM criticalsegs c CROSS JOIN owners o;
-- comma
SELECT c.name, p.vid FROM criticalsegs c, posreports p WHERE c.seg = p.seg AND p.t < 100;
-- using
SELECT vid, owner, spd FROM posreports JOIN owners USING (vid);
-- using with a star
SELECT * FROM owners JOIN (SELECT DISTINCT vid, xway FROM posreports) AS q USING (vid);
-- using in a full join
SELECT vid, owner, spd FROM (SELECT vid, spd FROM posreports WHERE t < 40) AS p FULL JOIN owners USING (vid);
-- using in a right join
SELECT vid, owner, spd FROM (SELECT vid, spd FROM posreports WHERE t < 40) AS p RIGHT JOIN owners USING (vid);
-- natural
SELECT * FROM criticalsegs NATURAL JOIN (SELECT seg, max(spd) AS top FROM posreports GROUP BY seg) AS q;
-- semi
SELECT p.vid, p.t FROM posreports p LEFT SEMI JOIN owners o ON p.vid = o.vid;
-- anti
SELECT p.vid, p.t FROM posreports p LEFT ANTI JOIN owners o ON p.vid = o.vid;
-- anti on two conditions
SELECT * FROM owners o ANTI JOIN posreports p ON p.vid = o.vid AND p.spd = 0;
-- three tables
SELECT o.owner, c.name, count(*) AS n FROM posreports p JOIN owners o ON p.vid = o.vid JOIN criticalsegs c ON c.seg = p.seg GROUP BY o.owner, c.name;
-- outer after inner
SELECT p.vid, o.owner, c.name FROM posreports p JOIN owners o ON p.vid = o.vid LEFT JOIN criticalsegs c ON c.seg = p.seg WHERE p.t BETWEEN 100 AND 200;
-- itself
SELECT a.vid, b.vid AS other, a.t FROM posreports a JOIN posreports b ON a.seg = b.seg AND a.t = b.t AND a.vid < b.vid;
-- on an inequality
SELECT a.vid, b.vid AS other FROM owners a JOIN owners b ON a.since < b.since AND a.vid > b.vid;
-- on different types
SELECT p.vid, p.t FROM posreports p JOIN (SELECT CAST(vid AS BIGINT) AS v FROM owners) AS o ON p.vid = o.v;
-- filter on the outer side
SELECT c.seg, c.name, p.vid FROM criticalsegs c LEFT JOIN posreports p ON p.seg = c.seg WHERE p.vid IS NULL;
-- on a computed key
SELECT a.vid, a.t, b.spd FROM posreports a JOIN posreports b ON a.vid = b.vid AND a.t = b.t + 30;
-- guarded in on
SELECT a.vid, b.seg FROM owners a JOIN criticalsegs b ON b.seg <> 3 AND a.vid / (b.seg - 3) > 20;
-- lateral view
-- on: spark
SELECT vid, x FROM owners LATERAL VIEW explode(array(1, 2)) q AS x;
-- lateral
-- on: spark
SELECT c.seg, l.m FROM criticalsegs c, LATERAL (SELECT max(spd) AS m FROM posreports p WHERE p.seg = c.seg) AS l;
-- ambiguous column
-- on: spark
-- error
SELECT seg FROM criticalsegs, posreports;
-- broadcast hint
SELECT /*+ BROADCAST(c) */ p.vid, c.name FROM posreports p JOIN criticalsegs c ON p.seg = c.seg;
-- a CTE behind a semi join
WITH named AS (SELECT seg AS s FROM criticalsegs WHERE name IS NOT NULL) SELECT p.vid, p.t FROM posreports p LEFT SEMI JOIN named n ON p.seg = n.s;
-- a CTE behind an anti join, and before one
WITH named AS (SELECT seg AS s FROM criticalsegs) SELECT n.s FROM named n LEFT ANTI JOIN named m ON n.s = m.s + 2;
