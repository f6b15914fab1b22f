# the pages of Flink on windows: the bids of its documentation, in tumbling, hopping and session windows, with what it prints
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE bid (bidtime TIMESTAMP, price DECIMAL(10, 2), item STRING, supplier_id STRING) TIMESTAMP BY bidtime
# SELECT window_start, window_end, SUM(price) FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end
> CREATE CONTINUOUS QUERY tumble AS
   SELECT window_start, window_end, SUM(price) AS total_price FROM TUMBLE(TABLE bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
   GROUP BY window_start, window_end
> CREATE CONTINUOUS QUERY hop AS
   SELECT window_start, window_end, SUM(price) AS total_price
   FROM HOP(TABLE bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) GROUP BY window_start, window_end
> CREATE CONTINUOUS QUERY sessions AS
   SELECT window_start, window_end, SUM(price) AS total_price
   FROM SESSION(TABLE bid, DESCRIPTOR(bidtime), INTERVAL '3' MINUTES) GROUP BY window_start, window_end
# GROUPING SETS within a window
> CREATE CONTINUOUS QUERY by_supplier AS
   SELECT window_start, window_end, supplier_id, SUM(price) AS total_price FROM TUMBLE(TABLE bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)
   GROUP BY window_start, window_end, GROUPING SETS ((supplier_id), ())
# the best two suppliers of each window
> CREATE CONTINUOUS QUERY best AS
   SELECT window_start, supplier_id, price FROM (
     SELECT window_start, supplier_id, SUM(price) AS price, ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY SUM(price) DESC) AS place
     FROM TUMBLE(TABLE bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES) GROUP BY window_start, supplier_id)
   WHERE place <= 1
# window(), as Spark has it
> CREATE CONTINUOUS QUERY in_spark AS
   SELECT window.start AS begins, window.end AS ends, COUNT(*) AS bids, MAX(price) AS highest FROM bid GROUP BY window(bidtime, '10 minutes')
feed bid
2020-04-15 08:05:00 | 4.00 | C | supplier1
2020-04-15 08:07:00 | 2.00 | A | supplier1
2020-04-15 08:09:00 | 5.00 | D | supplier2
2020-04-15 08:11:00 | 3.00 | B | supplier2
2020-04-15 08:13:00 | 1.00 | E | supplier1
2020-04-15 08:17:00 | 6.00 | F | supplier2
advance bid 2020-04-15 08:30:00
tick
changes tumble
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | 2020-04-15 08:10:00 | 11.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | 2020-04-15 08:20:00 | 10.00

changes hop
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | 2020-04-15 08:10:00 | 11.00
+ 2020-04-15 08:15:00 | 2020-04-15 08:05:00 | 2020-04-15 08:15:00 | 15.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | 2020-04-15 08:20:00 | 10.00
+ 2020-04-15 08:25:00 | 2020-04-15 08:15:00 | 2020-04-15 08:25:00 | 6.00

changes sessions
+ 2020-04-15 08:16:00 | 2020-04-15 08:05:00 | 2020-04-15 08:16:00 | 15.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:17:00 | 2020-04-15 08:20:00 | 6.00

changes~ by_supplier
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | 2020-04-15 08:10:00 | supplier1 | 6.00
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | 2020-04-15 08:10:00 | NULL | 11.00
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | 2020-04-15 08:10:00 | supplier2 | 5.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | 2020-04-15 08:20:00 | supplier2 | 9.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | 2020-04-15 08:20:00 | NULL | 10.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | 2020-04-15 08:20:00 | supplier1 | 1.00

changes best
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | supplier1 | 6.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | supplier2 | 9.00

changes in_spark
+ 2020-04-15 08:10:00 | 2020-04-15 08:00:00 | 2020-04-15 08:10:00 | 3 | 5.00
+ 2020-04-15 08:20:00 | 2020-04-15 08:10:00 | 2020-04-15 08:20:00 | 3 | 6.00

# asked once, of all bids
?~ SELECT window_start, window_end, SUM(price) FROM TUMBLE(TABLE bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES) GROUP BY window_start, window_end
2020-04-15 08:10:00 | 2020-04-15 08:20:00 | 10.00
2020-04-15 08:00:00 | 2020-04-15 08:10:00 | 11.00

?~ SELECT window.start, window.end, SUM(price) FROM bid GROUP BY window(bidtime, '10 minutes', '5 minutes')
2020-04-15 08:10:00 | 2020-04-15 08:20:00 | 10.00
2020-04-15 08:15:00 | 2020-04-15 08:25:00 | 6.00
2020-04-15 08:05:00 | 2020-04-15 08:15:00 | 15.00
2020-04-15 08:00:00 | 2020-04-15 08:10:00 | 11.00

?~ SELECT session_window.start, session_window.end, COUNT(*) FROM bid GROUP BY session_window(bidtime, '3 minutes')
2020-04-15 08:05:00 | 2020-04-15 08:16:00 | 5
2020-04-15 08:17:00 | 2020-04-15 08:20:00 | 1

