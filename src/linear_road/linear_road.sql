-- Linear Road (Arasu et al., 2004) in continuous queries. Every second is an instant; T is the start of a minute.

CREATE STREAMING TABLE reports (vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT, t BIGINT)
  TIMESTAMP BY t SHARD BY vid;
CREATE INDEX ON reports (xway);
CREATE STREAMING TABLE requests (type INT, vid INT, xway INT, qid INT, sinit INT, send INT, dow INT, tod INT, day INT, t BIGINT)
  TIMESTAMP BY t WITH (shards = 1);
CREATE STANDARD TABLE toll_history (vid INT, day INT, xway INT, tolls INT);

-- ---- Segment statistics ----------------------------------------------------------------------------------------------

-- For each segment at T, about the minute before it: the cars, and the sum of their average speeds. An average is kept in
-- units of 1/720720 mph, a whole number for up to 16 reports of a car: so sums are exact, in whatever order they are made.
CREATE STREAMING VIEW segment_minutes RANGE INTERVAL '5' MINUTE AS
  SELECT xway, dir, seg, SUM(speed) AS speeds, COUNT(*) AS cars
  FROM (SELECT xway, dir, seg, vid, SUM(spd) * 720720 DIV COUNT(*) AS speed
        FROM reports [INTERVAL '1' MINUTE] WHERE t < NOW() GROUP BY xway, dir, seg, vid)
  GROUP BY xway, dir, seg SAMPLE INTERVAL '1' MINUTE;

-- Lav: the mean of the averages of the last five minutes that had cars, rounded down.
CREATE STREAMING VIEW segment_speeds AS
  SELECT xway, dir, seg,
         CAST(FLOOR(AVG(CAST(speeds AS DOUBLE) / cars) / 720720 + 0.000000001) AS INT) AS lav,
         MAX(CASE WHEN instant = NOW() THEN cars ELSE 0 END) AS cars
  FROM segment_minutes [INTERVAL '4' MINUTE] GROUP BY xway, dir, seg SAMPLE INTERVAL '1' MINUTE;

-- ---- Accidents -------------------------------------------------------------------------------------------------------

-- Reports that are the fourth or later from the same place, 30 seconds apart, in a travel lane: a car is stopped there from t on
-- until its next report, 30 seconds later.
CREATE STREAMING VIEW stops RANGE INTERVAL '3' MINUTE AS
  SELECT vid, xway, dir, lane, pos, t FROM reports [vid ROWS 4]
  WHERE t = NOW() AND lane BETWEEN 1 AND 3 AND t - PREV(t, 3) = 90
    AND pos = PREV(pos) AND pos = PREV(pos, 2) AND pos = PREV(pos, 3)
    AND lane = PREV(lane) AND lane = PREV(lane, 2) AND lane = PREV(lane, 3)
    AND dir = PREV(dir) AND dir = PREV(dir, 2) AND dir = PREV(dir, 3)
    AND xway = PREV(xway) AND xway = PREV(xway, 2) AND xway = PREV(xway, 3)
  SAMPLE REALTIME;

-- Segments with an accident at some second of the minute before T: two cars were stopped in one place at the same time.
CREATE STREAMING VIEW accidents AS
  SELECT DISTINCT a.xway, a.dir, a.pos DIV 5280 AS seg
  FROM stops [INTERVAL '89' SECOND] a JOIN stops [INTERVAL '89' SECOND] b
    ON a.xway = b.xway AND a.dir = b.dir AND a.lane = b.lane AND a.pos = b.pos AND a.vid < b.vid
  WHERE ABS(a.t - b.t) < 30 AND GREATEST(a.t, b.t) < NOW() AND LEAST(a.t, b.t) + 29 >= NOW() - 60
  SAMPLE INTERVAL '1' MINUTE;

-- From where an accident is ahead, 0 to 4 segments downstream: the nearest.
CREATE STREAMING VIEW warnings AS
  SELECT a.xway, a.dir, CASE WHEN a.dir = 0 THEN a.seg - d.ahead ELSE a.seg + d.ahead END AS seg, MIN(d.ahead) AS ahead
  FROM accidents [NOW] a CROSS JOIN (VALUES (0), (1), (2), (3), (4)) AS d (ahead)
  GROUP BY a.xway, a.dir, CASE WHEN a.dir = 0 THEN a.seg - d.ahead ELSE a.seg + d.ahead END
  SAMPLE INTERVAL '1' MINUTE;

-- ---- Tolls -----------------------------------------------------------------------------------------------------------

-- What holds in the minute that begins at T, for each segment with something to say.
CREATE STREAMING VIEW conditions RANGE INTERVAL '1' MINUTE AS
  SELECT COALESCE(s.xway, w.xway) AS xway, COALESCE(s.dir, w.dir) AS dir, COALESCE(s.seg, w.seg) AS seg,
         COALESCE(s.lav, 0) AS lav, w.ahead AS ahead,
         CASE WHEN s.lav < 40 AND s.cars > 50 AND w.ahead IS NULL THEN 2 * (s.cars - 50) * (s.cars - 50) ELSE 0 END AS toll
  FROM segment_speeds [NOW] s FULL JOIN warnings [NOW] w ON s.xway = w.xway AND s.dir = w.dir AND s.seg = w.seg
  SAMPLE INTERVAL '1' MINUTE;

-- A car comes into a segment: its trip begins, or its report of 30 seconds ago was from another one.
CREATE STREAMING VIEW crossings AS
  SELECT vid, xway, dir, seg, lane, t, PREV(lane) AS from_lane,
         COALESCE(t - PREV(t) <> 30 OR xway <> PREV(xway) OR dir <> PREV(dir), TRUE) AS begins
  FROM reports [vid ROWS 4]
  WHERE t = NOW()
    AND (PREV(t) IS NULL OR t - PREV(t) <> 30 OR xway <> PREV(xway) OR dir <> PREV(dir) OR seg <> PREV(seg))
  SAMPLE REALTIME;

-- The toll it is quoted then, and the accident ahead; nothing on an exit ramp. Who comes from an exit ramp begins anew: the toll
-- of the segment it left by the ramp is not charged.
CREATE STREAMING VIEW quotes RANGE INTERVAL '3' HOUR AS
  SELECT c.vid, c.seg, c.dir, c.lane, c.t, c.begins OR c.from_lane = 4 AS begins, COALESCE(s.lav, 0) AS lav,
         CASE WHEN c.lane = 4 THEN 0 ELSE COALESCE(s.toll, 0) END AS toll, s.ahead
  FROM crossings [NOW] c LEFT JOIN conditions [INTERVAL '59' SECOND] s
    ON c.xway = s.xway AND c.dir = s.dir AND c.seg = s.seg
  SAMPLE REALTIME;

CREATE CONTINUOUS QUERY toll_notifications AS
  SELECT vid, t, lav, toll FROM quotes [NOW] WHERE lane <> 4 SAMPLE REALTIME;

CREATE CONTINUOUS QUERY accident_alerts AS
  SELECT t, vid, CASE WHEN dir = 0 THEN seg + ahead ELSE seg - ahead END AS seg
  FROM quotes [NOW] WHERE lane <> 4 AND ahead IS NOT NULL SAMPLE REALTIME;

-- ---- Accounts --------------------------------------------------------------------------------------------------------

-- The toll quoted on entering a segment is charged on entering the next one.
CREATE STREAMING VIEW charges RANGE UNBOUNDED AS
  SELECT vid, PREV(toll) AS toll FROM quotes [vid ROWS 2] WHERE instant = NOW() AND NOT begins AND PREV(toll) > 0 SAMPLE REALTIME;

CREATE STREAMING VIEW accounts RANGE UNBOUNDED AS
  SELECT ISTREAM vid, SUM(toll) AS balance FROM charges [UNBOUNDED] GROUP BY vid SAMPLE REALTIME;

CREATE CONTINUOUS QUERY balances AS
  SELECT r.t, r.qid, COALESCE(a.balance, 0) AS balance
  FROM requests [NOW] r LEFT JOIN accounts [vid ROWS 1] a ON a.vid = r.vid
  WHERE r.type = 2 SAMPLE REALTIME;

-- ---- Requests about the past -----------------------------------------------------------------------------------------

CREATE CONTINUOUS QUERY expenditures AS
  SELECT r.t, r.qid, COALESCE(SUM(h.tolls), 0) AS tolls
  FROM requests [NOW] r LEFT JOIN toll_history h ON h.vid = r.vid AND h.day = r.day AND h.xway = r.xway
  WHERE r.type = 3 GROUP BY r.t, r.qid SAMPLE REALTIME;

CREATE CONTINUOUS QUERY travel_times AS
  SELECT t, qid, TRAVEL_SECONDS(:segments, xway, sinit, send, dow, tod) AS seconds, TRAVEL_TOLL(:segments, xway, sinit, send, dow, tod) AS toll
  FROM requests [NOW] WHERE type = 4 SAMPLE REALTIME;
