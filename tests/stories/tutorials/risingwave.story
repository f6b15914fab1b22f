# the tutorials of RisingWave: taxi trips, live streams, servers, tweets
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE taxi_trips (id INT, distance DOUBLE, minutes DOUBLE, city STRING, t TIMESTAMP) TIMESTAMP BY t
# CREATE MATERIALIZED VIEW mv_avg_speed AS SELECT COUNT(id), SUM(distance) / SUM(duration) FROM taxi_trips
> CREATE CONTINUOUS QUERY avg_speed AS SELECT COUNT(id) AS trips, SUM(distance) AS total, SUM(distance) / SUM(minutes) AS speed FROM taxi_trips [UNBOUNDED] SAMPLE REALTIME
# SELECT ..., window_start FROM TUMBLE(taxi_trips, completed_at, INTERVAL '2' MINUTES)
> CREATE CONTINUOUS QUERY per_window AS SELECT window_start, COUNT(*) AS trips, AVG(distance) AS average FROM TUMBLE(taxi_trips, t, INTERVAL '2' MINUTES) GROUP BY window_start
> CREATE CONTINUOUS QUERY hopping AS SELECT window_start, window_end, MAX(distance) AS longest FROM HOP(taxi_trips, t, INTERVAL '1' MINUTE, INTERVAL '2' MINUTES) GROUP BY window_start, window_end
# EMIT ON WINDOW CLOSE is what always happens here
> CREATE CONTINUOUS QUERY on_close AS SELECT city, window_end, COUNT(*) AS trips FROM TUMBLE(taxi_trips, t, INTERVAL '2' MINUTES) GROUP BY city, window_end EMIT ON WINDOW CLOSE
# percentile_cont(0.5) WITHIN GROUP (ORDER BY ...), as in the tutorial on live streams
> CREATE CONTINUOUS QUERY medians AS SELECT city, percentile_cont(0.5) WITHIN GROUP (ORDER BY distance) AS median FROM taxi_trips [INTERVAL '10' MINUTE] GROUP BY city SAMPLE INTERVAL '2' MINUTE
# trips longer than usual
> CREATE CONTINUOUS QUERY unusual AS
   SELECT n.id, n.distance FROM taxi_trips [NOW] n
   JOIN (SELECT city, AVG(distance) AS average, stddev_pop(distance) AS deviation FROM taxi_trips [INTERVAL '10' MINUTE] GROUP BY city) u ON n.city = u.city
   WHERE n.distance > u.average + u.deviation SAMPLE REALTIME
# the change since the trip before
> CREATE CONTINUOUS QUERY change AS SELECT ISTREAM id, city, distance - PREV(distance) AS longer_by FROM taxi_trips [city ROWS 2] WHERE PREV(distance) IS NOT NULL SAMPLE REALTIME
# lag and lead as window functions
> CREATE CONTINUOUS QUERY lagged AS SELECT ISTREAM id, distance - lag(distance) OVER (PARTITION BY city ORDER BY t) AS longer_by FROM taxi_trips [INTERVAL '10' MINUTE] SAMPLE REALTIME
feed taxi_trips
1 | 4.0 | 10.0 | oslo | 2026-01-01 00:00:10
2 | 6.0 | 10.0 | oslo | 2026-01-01 00:01:00
3 | 2.0 | 4.0 | rome | 2026-01-01 00:01:59
4 | 20.0 | 16.0 | oslo | 2026-01-01 00:02:00
advance taxi_trips 2026-01-01 00:04:01
tick
changes avg_speed
+ 2026-01-01 00:00:10 | 1 | 4.0 | 0.4
+ 2026-01-01 00:01:00 | 2 | 10.0 | 0.5
+ 2026-01-01 00:01:59 | 3 | 12.0 | 0.5
+ 2026-01-01 00:02:00 | 4 | 32.0 | 0.8

changes per_window
+ 2026-01-01 00:02:00 | 2026-01-01 00:00:00 | 3 | 4.0
+ 2026-01-01 00:04:00 | 2026-01-01 00:02:00 | 1 | 20.0

changes hopping
+ 2026-01-01 00:01:00 | 2025-12-31 23:59:00 | 2026-01-01 00:01:00 | 4.0
+ 2026-01-01 00:02:00 | 2026-01-01 00:00:00 | 2026-01-01 00:02:00 | 6.0
+ 2026-01-01 00:03:00 | 2026-01-01 00:01:00 | 2026-01-01 00:03:00 | 20.0
+ 2026-01-01 00:04:00 | 2026-01-01 00:02:00 | 2026-01-01 00:04:00 | 20.0

changes~ on_close
+ 2026-01-01 00:02:00 | oslo | 2026-01-01 00:02:00 | 2
+ 2026-01-01 00:02:00 | rome | 2026-01-01 00:02:00 | 1
+ 2026-01-01 00:04:00 | oslo | 2026-01-01 00:04:00 | 1

changes~ medians
+ 2026-01-01 00:02:00 | oslo | 6.0
+ 2026-01-01 00:02:00 | rome | 2.0
+ 2026-01-01 00:04:00 | oslo | 6.0
+ 2026-01-01 00:04:00 | rome | 2.0

changes unusual
+ 2026-01-01 00:02:00 | 4 | 20.0

changes change
+ 2026-01-01 00:01:00 | 2 | oslo | 2.0
+ 2026-01-01 00:02:00 | 4 | oslo | 14.0

changes lagged
+ 2026-01-01 00:00:10 | 1 | NULL
+ 2026-01-01 00:01:00 | 2 | 2.0
+ 2026-01-01 00:01:59 | 3 | NULL
+ 2026-01-01 00:02:00 | 4 | 14.0

> CREATE STREAMING TABLE tweets (body STRING, author STRING, t TIMESTAMP) TIMESTAMP BY t
# WITH tags AS (SELECT unnest(regexp_matches(text, '#\w+', 'g')) ...) SELECT hashtag, COUNT(*), window_start FROM TUMBLE(tags, ...) GROUP BY hashtag, window_start
> CREATE CONTINUOUS QUERY hashtags AS
   SELECT word AS hashtag, COUNT(*) AS n FROM tweets [INTERVAL '1' MINUTE] LATERAL VIEW explode(split(body, ' ')) x AS word
   WHERE word LIKE '#%' GROUP BY word SAMPLE INTERVAL '1' MINUTE
# influencers
> CREATE CONTINUOUS QUERY influencers AS SELECT author, COUNT(*) AS tweets FROM tweets [INTERVAL '1' MINUTE] GROUP BY author ORDER BY tweets DESC, author LIMIT 1 SAMPLE INTERVAL '1' MINUTE
feed tweets
the #pond is #deep | ann | 2026-01-01 00:00:10
no tag | bob | 2026-01-01 00:00:20
again #pond | ann | 2026-01-01 00:00:30
advance tweets 2026-01-01 00:01:01
tick
changes~ hashtags
+ 2026-01-01 00:01:00 | #deep | 1
+ 2026-01-01 00:01:00 | #pond | 2

changes influencers
+ 2026-01-01 00:01:00 | ann | 2

