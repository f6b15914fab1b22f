# a session of a key is sent when time has passed its last row by the gap; a row exactly then still belongs to it
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k
> CREATE STANDARD TABLE names (k STRING, name STRING)
> INSERT INTO names VALUES ('a', 'Ada')
> CREATE CONTINUOUS QUERY visits RANGE UNBOUNDED AS
      SELECT k, session_window.start, session_window.end, COUNT(*) AS n FROM r GROUP BY k, session_window(t, '5 seconds')
> CREATE CONTINUOUS QUERY named RANGE UNBOUNDED AS
      SELECT n.name, w.window_start, SUM(w.v) AS s
      FROM SESSION(TABLE r PARTITION BY k, DESCRIPTOR(t), INTERVAL '5' SECOND) w JOIN names n ON n.k = w.k
      GROUP BY n.name, w.window_start, w.window_end
feed r
a | 1 | 0
b | 1 | 2
a | 2 | 5
a | 3 | 10
tick
changes~ visits
: k | start | end | n
+ 7 | b | 2 | 7 | 1
advance r 15
tick
changes~ visits
feed r
a | 4 | 15
b | 2 | 18
advance r 23
tick
changes~ visits
+ 20 | a | 0 | 20 | 4
changes~ named
: name | window_start | s
+ 20 | Ada | 0 | 10
advance r 24
tick
changes~ visits
+ 23 | b | 18 | 23 | 1
! ALTER CONTINUOUS QUERY visits SET SAMPLE REALTIME
the instants of "visits" are the ends of its sessions
Hint: Drop it, and create it with another session_window.
