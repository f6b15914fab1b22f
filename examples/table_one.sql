-- The eight statements of Table I of "Streaming Tables: Native Support to Streaming Data in DBMSs" (the scenario is Linear
-- Road), in millpond's words. Reports are CSV files with a header in the folder `reports`, times are seconds.
--
--     mkdir -p reports
--     millpond sql --pond traffic --file examples/table_one.sql
--     millpond run --pond traffic
--
-- The definitions are needed once; the questions at the end can be asked at any time.

-- What the statements need besides: the functions, and two standard tables.
CREATE AGGREGATE trj(t BIGINT, xway INT, dir INT, seg INT, pos INT) RETURNS STRING
  AS PYTHON 'linear_road.functions:trajectory';
CREATE TABLE FUNCTION near(xway INT, seg INT, within INT, since BIGINT, until BIGINT)
  RETURNS (vid INT, dir INT, entered BIGINT, seen_last BIGINT, reports BIGINT, speed DOUBLE)
  AS PYTHON 'linear_road.functions:near';
CREATE STANDARD TABLE involvedvids (vid INT);
CREATE STANDARD TABLE criticalsegs (seg INT);

-- (a) the streaming table with its history period and indices
CREATE STREAMING TABLE posreports (vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT, t BIGINT)
  TIMESTAMP BY t SHARD BY vid RANGE INTERVAL '70' DAY;
CREATE INDEX ON posreports (vid);
CREATE INDEX ON posreports (seg);

-- (c) accidents: a vehicle is stopped when its last four reports have speed zero
CREATE CONTINUOUS QUERY accidents RANGE INTERVAL '1' HOUR AS
  SELECT ISTREAM vid, xway, lane, dir, seg, pos FROM posreports [vid ROWS 4]
  WHERE spd = 0 AND PREV(spd) = 0 AND PREV(spd, 2) = 0 AND PREV(spd, 3) = 0
  SAMPLE REALTIME;

-- (d) statistics of the segments over the last minute, each minute, kept for five
CREATE STREAMING VIEW segstat RANGE INTERVAL '5' MINUTE AS
  SELECT xway, dir, seg, AVG(spd) AS speed, COUNT(DISTINCT vid) AS cars
  FROM posreports [INTERVAL '1' MINUTE]
  GROUP BY xway, dir, seg
  SAMPLE INTERVAL '1' MINUTE;

-- (e) segment crossings
CREATE CONTINUOUS QUERY crossings RANGE INTERVAL '1' HOUR AS
  SELECT ISTREAM vid, xway, dir, seg, PREV(seg) AS from_seg, t FROM posreports [vid ROWS 2]
  WHERE seg <> PREV(seg)
  SAMPLE REALTIME;

-- (h) live statistics of the critical segments
CREATE CONTINUOUS QUERY watched RANGE INTERVAL '1' HOUR AS
  SELECT s.xway, s.dir, s.seg, s.speed, s.cars
  FROM segstat [NOW] AS s JOIN criticalsegs AS c ON s.seg = c.seg
  SAMPLE INTERVAL '1' MINUTE;

-- (b) the continuous insert; here it comes last, so that the queries are there for the first row
CREATE SOURCE road (t BIGINT, vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT)
  FROM FILES 'reports' FORMAT CSV WITH (header = 'true');
INSERT INTO posreports SELECT vid, spd, xway, lane, dir, seg, pos, t FROM road;

-- QUESTIONS

-- (f) the trajectories of the vehicles involved in an accident, in its period
SELECT vid, trj(t, xway, dir, seg, pos) AS trajectory
FROM posreports
WHERE VALID(posreports) OVERLAPS PERIOD(0, 180) AND vid IN (SELECT vid FROM involvedvids)
GROUP BY vid ORDER BY vid;

-- (g) the vehicles that passed near a segment in a period
SELECT vid, dir, entered, seen_last, reports, speed FROM near(0, 11, 1, 60, 180) ORDER BY vid;
