# asked once, group windows give the rows that Spark gives; where time is a whole number they count seconds
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE m (k STRING, at TIMESTAMP) TIMESTAMP BY at
feed r
a | 1 | -3
a | 2 | 0
b | 3 | 5
a | 4 | 10
feed m
x | 2026-03-01 11:59:59.999999
y | 2026-03-01 12:00:00
? SELECT window.start, window.end, COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds') ORDER BY window.start
-10 | 0 | 1
0 | 10 | 2
10 | 20 | 1
? SELECT window.start, SUM(v) AS s FROM r GROUP BY window(t, '10 seconds', '5 seconds', '1 second') ORDER BY 1
-9 | 3
-4 | 6
1 | 7
6 | 4
? SELECT k, session_window.start, session_window.end, COUNT(*) AS n FROM r GROUP BY k, session_window(t, '5 seconds') ORDER BY 1, 2
a | -3 | 5 | 2
a | 10 | 15 | 1
b | 5 | 10 | 1
? SELECT k, window_start, window_time FROM TUMBLE(TABLE r, DESCRIPTOR(t), INTERVAL '10' SECOND) WHERE v > 2 ORDER BY k
a | 10 | 19
b | 0 | 9
? SELECT window.start, COUNT(*) AS n FROM m GROUP BY window(at, '1 hour') ORDER BY 1
2026-03-01 11:00:00 | 1
2026-03-01 12:00:00 | 1
? SELECT COUNT(*) AS n FROM r [INTERVAL '10' SECOND BEFORE NOW]
2
