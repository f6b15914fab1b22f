# the guide of Structured Streaming: word counts in windows, sessions, joins of streams, deduplication
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE words (word STRING, user STRING, t TIMESTAMP) TIMESTAMP BY t LATENESS INTERVAL '10' MINUTE
# words.groupBy(window(words.timestamp, "10 minutes", "5 minutes"), words.word).count()
> CREATE CONTINUOUS QUERY word_counts AS SELECT window.start AS begins, window.end AS ends, word, COUNT(*) AS count FROM words GROUP BY window(t, '10 minutes', '5 minutes'), word
# groupBy(session_window("timestamp", "5 minutes"), "user").count()
> CREATE CONTINUOUS QUERY sessions AS SELECT user, session_window.start AS begins, session_window.end AS ends, COUNT(*) AS count FROM words GROUP BY session_window(t, '5 minutes'), user
# a tumbling window with an offset
> CREATE CONTINUOUS QUERY shifted AS SELECT window.start AS begins, COUNT(*) AS count FROM words GROUP BY window(t, '10 minutes', '10 minutes', '2 minutes')
# dropDuplicates("user") within a window
> CREATE CONTINUOUS QUERY users AS SELECT ISTREAM DISTINCT user FROM words [INTERVAL '1' HOUR] SAMPLE REALTIME
# df.where("signal > 10").select("device"); groupBy("deviceType").count()
> CREATE CONTINUOUS QUERY totals AS SELECT word, COUNT(*) AS count FROM words [UNBOUNDED] GROUP BY word SAMPLE INTERVAL '5' MINUTE
# the last one is late, and within the lateness: it counts
feed words
cat | ann | 2026-01-01 12:02:00
dog | ann | 2026-01-01 12:03:00
dog | bob | 2026-01-01 12:03:00
owl | ann | 2026-01-01 12:07:00
cat | bob | 2026-01-01 12:11:00
dog | ann | 2026-01-01 12:04:00
advance words 2026-01-01 12:25:00
tick
changes~ word_counts
+ 2026-01-01 12:05:00 | 2026-01-01 11:55:00 | 2026-01-01 12:05:00 | cat | 1
+ 2026-01-01 12:05:00 | 2026-01-01 11:55:00 | 2026-01-01 12:05:00 | dog | 3
+ 2026-01-01 12:10:00 | 2026-01-01 12:00:00 | 2026-01-01 12:10:00 | cat | 1
+ 2026-01-01 12:10:00 | 2026-01-01 12:00:00 | 2026-01-01 12:10:00 | dog | 3
+ 2026-01-01 12:10:00 | 2026-01-01 12:00:00 | 2026-01-01 12:10:00 | owl | 1
+ 2026-01-01 12:15:00 | 2026-01-01 12:05:00 | 2026-01-01 12:15:00 | owl | 1
+ 2026-01-01 12:15:00 | 2026-01-01 12:05:00 | 2026-01-01 12:15:00 | cat | 1
+ 2026-01-01 12:20:00 | 2026-01-01 12:10:00 | 2026-01-01 12:20:00 | cat | 1

changes~ sessions
+ 2026-01-01 12:08:00 | bob | 2026-01-01 12:03:00 | 2026-01-01 12:08:00 | 1
+ 2026-01-01 12:12:00 | ann | 2026-01-01 12:02:00 | 2026-01-01 12:12:00 | 4
+ 2026-01-01 12:16:00 | bob | 2026-01-01 12:11:00 | 2026-01-01 12:16:00 | 1

changes shifted
+ 2026-01-01 12:12:00 | 2026-01-01 12:02:00 | 6

changes users
+ 2026-01-01 12:02:00 | ann
+ 2026-01-01 12:03:00 | bob

changes~ totals
+ 2026-01-01 12:05:00 | cat | 1
+ 2026-01-01 12:05:00 | dog | 3
+ 2026-01-01 12:10:00 | cat | 1
+ 2026-01-01 12:10:00 | dog | 3
+ 2026-01-01 12:10:00 | owl | 1
+ 2026-01-01 12:15:00 | cat | 2
+ 2026-01-01 12:15:00 | dog | 3
+ 2026-01-01 12:15:00 | owl | 1
+ 2026-01-01 12:20:00 | cat | 2
+ 2026-01-01 12:20:00 | dog | 3
+ 2026-01-01 12:20:00 | owl | 1

> CREATE STREAMING TABLE impressions (ad INT, t TIMESTAMP) TIMESTAMP BY t
> CREATE STREAMING TABLE clicks (ad INT, t TIMESTAMP) TIMESTAMP BY t
# impressions.join(clicks, expr("clickAdId = impressionAdId AND clickTime >= impressionTime AND clickTime <= impressionTime + interval 1 hour"))
> CREATE CONTINUOUS QUERY clicked AS SELECT ISTREAM i.ad, i.t AS shown, c.t AS clicked FROM impressions [INTERVAL '1' HOUR] i JOIN clicks [INTERVAL '1' HOUR] c ON c.ad = i.ad AND c.t >= i.t AND c.t <= i.t + INTERVAL '1' HOUR SAMPLE REALTIME
# the same, leftOuter: those without a click when the hour is over
> CREATE CONTINUOUS QUERY not_clicked AS SELECT DSTREAM i.ad FROM impressions [INTERVAL '1' HOUR] i LEFT ANTI JOIN clicks [INTERVAL '1' HOUR] c ON c.ad = i.ad SAMPLE INTERVAL '1' HOUR
# clicks per impression, as RisingWave's tutorial on advertisements has it
> CREATE CONTINUOUS QUERY click_through AS
   SELECT i.ad, COUNT(DISTINCT c.t) / COUNT(DISTINCT i.t) AS rate FROM impressions [INTERVAL '1' HOUR] i LEFT JOIN clicks [INTERVAL '1' HOUR] c ON i.ad = c.ad
   GROUP BY i.ad SAMPLE INTERVAL '1' HOUR
feed impressions
1 | 2026-01-01 12:10:00
2 | 2026-01-01 12:20:00
feed clicks
1 | 2026-01-01 12:30:00
advance impressions 2026-01-01 15:00:01
advance clicks 2026-01-01 15:00:01
tick
changes clicked
+ 2026-01-01 12:30:00 | 1 | 2026-01-01 12:10:00 | 2026-01-01 12:30:00

changes not_clicked
- 2026-01-01 14:00:00 | 2

changes~ click_through
+ 2026-01-01 13:00:00 | 2 | 0.0
+ 2026-01-01 13:00:00 | 1 | 1.0

