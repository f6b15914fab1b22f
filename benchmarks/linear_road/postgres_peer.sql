-- Linear Road on PostgreSQL: tables. {k} is a shard, the traffic of every second direction; shards do not see one another.

-- Every report, kept, with what is known of the vehicle then: the toll it was quoted on entering its segment, what it has just been charged,
-- how many reports in a row came from this very place, and whether it has just come into the segment.
CREATE UNLOGGED TABLE reports_{k} (vid int, t int, pos int, toll int, charge int, xway smallint, dir smallint, seg smallint,
  lane smallint, spd smallint, still smallint, entered boolean) WITH (autovacuum_enabled = false);
CREATE INDEX ON reports_{k} (t);
CREATE INDEX ON reports_{k} (t) WHERE still >= 4;

-- Of each segment and minute, known at its end T: the mean of its cars' average speeds, and the cars.
CREATE UNLOGGED TABLE minutes_{k} (t int, xway smallint, dir smallint, seg smallint, speed float8, cars int);

-- What holds in the minute under way.
CREATE UNLOGGED TABLE conditions_{k} (xway smallint, dir smallint, seg smallint, lav int, toll int, ahead int);
