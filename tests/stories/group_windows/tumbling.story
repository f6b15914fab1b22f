# each window is sent once, when time has reached its end; a row on an edge belongs to the window that begins there
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k LATENESS INTERVAL '2' SECOND
> CREATE CONTINUOUS QUERY sums RANGE UNBOUNDED AS
      SELECT k, window.start, window.end, COUNT(*) AS n, SUM(v) AS s FROM r GROUP BY k, window(t, '10 seconds')
> CREATE CONTINUOUS QUERY all_of_it RANGE UNBOUNDED AS SELECT window.end AS closed, COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds')
feed r
a | 1 | 0
b | 2 | 9
a | 3 | 10
a | 4 | 11
b | 5 | 8
b | 6 | 10
tick
changes~ sums
: k | start | end | n | s
feed r
a | 7 | 12
tick
changes~ sums
+ 10 | a | 0 | 10 | 1 | 1
+ 10 | b | 0 | 10 | 1 | 2
changes~ all_of_it
: closed | n
+ 10 | 10 | 2
feed r
c | 8 | 45
advance r 50
tick
changes~ sums
+ 20 | a | 10 | 20 | 3 | 14
+ 20 | b | 10 | 20 | 1 | 6
+ 50 | c | 40 | 50 | 1 | 8
changes~ all_of_it
+ 20 | 20 | 4
+ 50 | 50 | 1
? SELECT t FROM r WHERE v = 5
