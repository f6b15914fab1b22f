# what ksqlDB's tutorials ask over windows of time: tumbling, hopping and session windows, top k, joins of streams and tables
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE pageviews (viewer STRING, page STRING, region STRING, ms INT, t TIMESTAMP) TIMESTAMP BY t
> CREATE TABLE users (viewer STRING, level STRING)
> INSERT INTO users VALUES ('ann', 'gold'), ('bob', 'silver')
# SELECT region, COUNT(*) FROM pageviews WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY region
> CREATE CONTINUOUS QUERY tumbling AS SELECT region, window.start AS begins, COUNT(*) AS n FROM pageviews GROUP BY region, window(t, '1 minute')
# WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 30 SECONDS)
> CREATE CONTINUOUS QUERY hopping AS SELECT region, window.start AS begins, window.end AS ends, SUM(ms) AS spent FROM pageviews GROUP BY region, window(t, '1 minute', '30 seconds')
# WINDOW SESSION (60 SECONDS) GROUP BY viewer
> CREATE CONTINUOUS QUERY sessions AS SELECT viewer, session_window.start AS begins, session_window.end AS ends, COUNT(*) AS clicks FROM pageviews GROUP BY viewer, session_window(t, '60 seconds')
# SELECT ... LEFT JOIN users ON ...
> CREATE CONTINUOUS QUERY enriched AS SELECT p.viewer, p.page, u.level FROM pageviews [NOW] p LEFT JOIN users u ON p.viewer = u.viewer SAMPLE REALTIME
# CREATE TABLE pageviews_by_level AS SELECT level, COUNT(*) FROM enriched WINDOW TUMBLING ... GROUP BY level
> CREATE CONTINUOUS QUERY by_level AS SELECT u.level, window.end AS ends, COUNT(*) AS n FROM pageviews p JOIN users u ON p.viewer = u.viewer GROUP BY u.level, window(p.t, '1 minute')
# TOPK(ms, 2) and TOPKDISTINCT
> CREATE CONTINUOUS QUERY longest AS SELECT viewer, ms FROM (SELECT viewer, ms, ROW_NUMBER() OVER (ORDER BY ms DESC, viewer) AS place FROM pageviews [INTERVAL '1' MINUTE]) WHERE place <= 2 SAMPLE INTERVAL '1' MINUTE
# COUNT_DISTINCT(viewer)
> CREATE CONTINUOUS QUERY viewers AS SELECT window.end AS ends, COUNT(DISTINCT viewer) AS viewers FROM pageviews GROUP BY window(t, '1 minute')
feed pageviews
ann | /a | eu | 100 | 2026-01-01 00:00:05
bob | /a | us | 300 | 2026-01-01 00:00:31
ann | /b | eu | 200 | 2026-01-01 00:00:59
eve | /a | eu | 50 | 2026-01-01 00:01:00
ann | /c | eu | 10 | 2026-01-01 00:03:30
advance pageviews 2026-01-01 00:06:00
tick
changes~ tumbling
+ 2026-01-01 00:01:00 | eu | 2026-01-01 00:00:00 | 2
+ 2026-01-01 00:01:00 | us | 2026-01-01 00:00:00 | 1
+ 2026-01-01 00:02:00 | eu | 2026-01-01 00:01:00 | 1
+ 2026-01-01 00:04:00 | eu | 2026-01-01 00:03:00 | 1

changes~ hopping
+ 2026-01-01 00:00:30 | eu | 2025-12-31 23:59:30 | 2026-01-01 00:00:30 | 100
+ 2026-01-01 00:01:00 | eu | 2026-01-01 00:00:00 | 2026-01-01 00:01:00 | 300
+ 2026-01-01 00:01:00 | us | 2026-01-01 00:00:00 | 2026-01-01 00:01:00 | 300
+ 2026-01-01 00:01:30 | us | 2026-01-01 00:00:30 | 2026-01-01 00:01:30 | 300
+ 2026-01-01 00:01:30 | eu | 2026-01-01 00:00:30 | 2026-01-01 00:01:30 | 250
+ 2026-01-01 00:02:00 | eu | 2026-01-01 00:01:00 | 2026-01-01 00:02:00 | 50
+ 2026-01-01 00:04:00 | eu | 2026-01-01 00:03:00 | 2026-01-01 00:04:00 | 10
+ 2026-01-01 00:04:30 | eu | 2026-01-01 00:03:30 | 2026-01-01 00:04:30 | 10

changes~ sessions
+ 2026-01-01 00:01:31 | bob | 2026-01-01 00:00:31 | 2026-01-01 00:01:31 | 1
+ 2026-01-01 00:01:59 | ann | 2026-01-01 00:00:05 | 2026-01-01 00:01:59 | 2
+ 2026-01-01 00:02:00 | eve | 2026-01-01 00:01:00 | 2026-01-01 00:02:00 | 1
+ 2026-01-01 00:04:30 | ann | 2026-01-01 00:03:30 | 2026-01-01 00:04:30 | 1

changes enriched
+ 2026-01-01 00:00:05 | ann | /a | gold
+ 2026-01-01 00:00:31 | bob | /a | silver
+ 2026-01-01 00:00:59 | ann | /b | gold
+ 2026-01-01 00:01:00 | eve | /a | NULL
+ 2026-01-01 00:03:30 | ann | /c | gold

changes~ by_level
+ 2026-01-01 00:01:00 | gold | 2026-01-01 00:01:00 | 2
+ 2026-01-01 00:01:00 | silver | 2026-01-01 00:01:00 | 1
+ 2026-01-01 00:04:00 | gold | 2026-01-01 00:04:00 | 1

changes~ longest
+ 2026-01-01 00:01:00 | bob | 300
+ 2026-01-01 00:01:00 | ann | 200
+ 2026-01-01 00:02:00 | eve | 50
+ 2026-01-01 00:04:00 | ann | 10

changes viewers
+ 2026-01-01 00:01:00 | 2026-01-01 00:01:00 | 2
+ 2026-01-01 00:02:00 | 2026-01-01 00:02:00 | 1
+ 2026-01-01 00:04:00 | 2026-01-01 00:04:00 | 1

> CREATE STREAMING TABLE orders (id INT, item STRING, amount DOUBLE, t TIMESTAMP) TIMESTAMP BY t
> CREATE STREAMING TABLE shipments (id INT, warehouse STRING, t TIMESTAMP) TIMESTAMP BY t
# SELECT ... FROM orders o INNER JOIN shipments s WITHIN 7 DAYS ON s.order_id = o.id
> CREATE CONTINUOUS QUERY shipped AS SELECT ISTREAM o.id, o.item, s.warehouse FROM orders [INTERVAL '7' DAY] o JOIN shipments [INTERVAL '7' DAY] s ON o.id = s.id SAMPLE REALTIME
# orders that were not shipped within a day
> CREATE CONTINUOUS QUERY forgotten AS SELECT ISTREAM o.id FROM orders [INTERVAL '2' DAY] o LEFT ANTI JOIN shipments [INTERVAL '2' DAY] s ON o.id = s.id WHERE o.t <= NOW() - INTERVAL '1' DAY SAMPLE INTERVAL '1' DAY
feed orders
1 | tea | 4.0 | 2026-01-01 10:00:00
2 | ale | 3.0 | 2026-01-01 11:00:00
feed shipments
1 | north | 2026-01-01 15:00:00
advance orders 2026-01-04 00:00:01
advance shipments 2026-01-04 00:00:01
tick
changes~ shipped
+ 2026-01-01 15:00:00 | 1 | tea | north

changes~ forgotten
+ 2026-01-03 00:00:00 | 2

