# SHOW and EXPLAIN tell what there is, how far it is and what its next result waits for
skip one-shard: EXPLAIN tells how the work is split, and here it is not
> CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid LATENESS INTERVAL 5
> CREATE STREAMING TABLE alarms (seg INT, at BIGINT) TIMESTAMP BY at
> CREATE STANDARD TABLE names (seg INT, name STRING)
> CREATE STREAMING VIEW cars RANGE INTERVAL '1' MINUTE AS
      SELECT seg, COUNT(*) AS n FROM r [INTERVAL 10]   GROUP BY seg SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY warned AS SELECT ISTREAM x.vid, n.name FROM r [vid ROWS 2 WITHIN INTERVAL '1' MINUTE] x
      JOIN alarms [ROWS 3] ON x.seg = alarms.seg JOIN names n ON n.seg = x.seg SAMPLE REALTIME
> CREATE CONTINUOUS QUERY gone AS SELECT DSTREAM seg FROM cars [NOW] SAMPLE INTERVAL 20
? SHOW CONTINUOUS QUERIES
: name | state | sample | stream_operator | sent | last_instant | frontier | problem | evaluating_since | leaves_out | leaves_out_since | sql
warned | running | realtime | istream | 0 | NULL | NULL | NULL | NULL | NULL | NULL | SELECT x.vid, n.name FROM r [vid ROWS 2 WITHIN INTERVAL '1' MINUTE] x JOIN alarms [ROWS 3] ON x.seg = alarms.seg JOIN names n ON n.seg = x.seg
gone | running | 20 seconds | dstream | 0 | NULL | NULL | NULL | NULL | NULL | NULL | SELECT seg FROM cars [NOW]

feed r
1 | 10 | 8
2 | 10 | 9
1 | 11 | 12
2 | 11 | 26
tick
? SHOW CONTINUOUS QUERIES
warned | running | realtime | istream | 0 | NULL | NULL | NULL | NULL | NULL | NULL | SELECT x.vid, n.name FROM r [vid ROWS 2 WITHIN INTERVAL '1' MINUTE] x JOIN alarms [ROWS 3] ON x.seg = alarms.seg JOIN names n ON n.seg = x.seg
gone | running | 20 seconds | dstream | 0 | 20 | 21 | NULL | NULL | NULL | NULL | SELECT seg FROM cars [NOW]

? SHOW STREAMING VIEWS
cars | running | 10 seconds | rstream | 2 | 20 | 21 | NULL | NULL | NULL | NULL | SELECT seg, COUNT(*) AS n FROM r [INTERVAL 10] GROUP BY seg

? EXPLAIN STREAMING VIEW cars
evaluated every 10 seconds; sends the whole result (RSTREAM); keeps those of the last 1 minute
reads r through the rows of the last 10 seconds
evaluated in the shards of r, then added up
time is complete below 21, held back by r
next instant: 30, once time has passed it

? EXPLAIN CONTINUOUS QUERY warned
evaluated at each arrival; sends what is new in the result (ISTREAM); keeps those of the last instant
reads r as x through the 2 newest rows of each vid of the last 1 minute
reads alarms through the 3 newest rows
reads standard table names as n, as it is then
evaluated whole, instant by instant
waits for the first row or heartbeat of alarms
if nothing comes from alarms for now: ALTER STREAMING TABLE alarms SET IDLE

feed alarms
11 | 4
tick
? EXPLAIN CONTINUOUS QUERY warned
evaluated at each arrival; sends what is new in the result (ISTREAM); keeps those of the last instant
reads r as x through the 2 newest rows of each vid of the last 1 minute
reads alarms through the 3 newest rows
reads standard table names as n, as it is then
evaluated whole, instant by instant
time is complete below 4, held back by alarms
if nothing comes from alarms for now: ALTER STREAMING TABLE alarms SET IDLE
next instant: the next row of alarms, once its time has passed

? EXPLAIN CONTINUOUS QUERY gone
evaluated every 20 seconds; sends what is gone from the result (DSTREAM); keeps those of the last instant
reads cars through [NOW], the rows of the instant
evaluated whole, instant by instant
time is complete below 21, held back by r
next instant: 40, once time has passed it

> PAUSE CONTINUOUS QUERY gone
? EXPLAIN CONTINUOUS QUERY gone
evaluated every 20 seconds; sends what is gone from the result (DSTREAM); keeps those of the last instant
reads cars through [NOW], the rows of the instant
evaluated whole, instant by instant
paused

? SHOW CONTINUOUS QUERIES
warned | running | realtime | istream | 0 | NULL | NULL | NULL | NULL | NULL | NULL | SELECT x.vid, n.name FROM r [vid ROWS 2 WITHIN INTERVAL '1' MINUTE] x JOIN alarms [ROWS 3] ON x.seg = alarms.seg JOIN names n ON n.seg = x.seg
gone | paused | 20 seconds | dstream | 0 | 20 | 21 | NULL | NULL | NULL | NULL | SELECT seg FROM cars [NOW]

? DESCRIBE cars
seg | INT | ''
n | BIGINT | ''
instant | BIGINT | time

? SHOW TABLES
r | streaming table | 4 | 21 | forever | 5 seconds | 0
alarms | streaming table | 1 | 4 | forever | 0 seconds | 0
names | standard table | 0 | NULL | NULL | NULL | NULL

! EXPLAIN CONTINUOUS QUERY nothing
continuous query "nothing" does not exist
Detail: There is: cars, gone, warned.

