# the forms of Flink mean the same windows: table functions in FROM, and the older calls in GROUP BY
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t
> CREATE STANDARD TABLE names (k STRING, name STRING)
> INSERT INTO names VALUES ('a', 'Ada'), ('b', 'Bert')
> CREATE CONTINUOUS QUERY hops RANGE UNBOUNDED AS
      SELECT window_start, window_end, SUM(v) AS s
      FROM HOP(TABLE r, DESCRIPTOR(t), INTERVAL '5' SECOND, INTERVAL '10' SECOND) GROUP BY window_start, window_end
> CREATE CONTINUOUS QUERY rows RANGE UNBOUNDED AS
      SELECT * FROM TABLE(TUMBLE(DATA => TABLE r, TIMECOL => DESCRIPTOR(t), SIZE => INTERVAL '10' SECOND, OFFSET => INTERVAL '3' SECOND))
> CREATE CONTINUOUS QUERY named RANGE UNBOUNDED AS
      SELECT n.name, w.window_time, COUNT(*) AS c FROM TUMBLE(r, t, INTERVAL '10' SECOND) w JOIN names n ON n.k = w.k
      WHERE w.v > 1 GROUP BY n.name, w.window_time HAVING COUNT(*) > 1
> CREATE CONTINUOUS QUERY older RANGE UNBOUNDED AS
      SELECT ISTREAM TUMBLE_START(t, INTERVAL '10' SECOND) AS began, COUNT(*) AS c FROM r GROUP BY TUMBLE(t, INTERVAL '10' SECOND)
      EMIT ON WINDOW CLOSE
feed r
a | 1 | 1
a | 2 | 4
b | 3 | 7
a | 4 | 9
a | 5 | 13
advance r 20
tick
changes~ hops
: window_start | window_end | s
+ 5 | -5 | 5 | 3
+ 10 | 0 | 10 | 10
+ 15 | 5 | 15 | 12
+ 20 | 10 | 20 | 5
changes~ rows
: k | v | t | window_start | window_end | window_time
+ 3 | a | 1 | 1 | -7 | 3 | 2
+ 13 | a | 2 | 4 | 3 | 13 | 12
+ 13 | a | 4 | 9 | 3 | 13 | 12
+ 13 | b | 3 | 7 | 3 | 13 | 12
changes~ named
: name | window_time | c
+ 10 | Ada | 9 | 2
changes~ older
: began | c
+ 10 | 0 | 4
+ 20 | 10 | 1
