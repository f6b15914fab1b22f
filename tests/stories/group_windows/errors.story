# what is wrong with a group window is said at its place, and forms of other systems are answered with the native one
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t

! CREATE CONTINUOUS QUERY q AS SELECT window, COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds')
a window as a whole cannot be a column of a result
line 1: CREATE CONTINUOUS QUERY q AS SELECT window, COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds')
                                            ^^^^^^
Detail: It is a struct of start and end.
Hint: Select window.start and window.end.

! CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY window(v, '10 seconds')
a continuous query is grouped by the time of "r", which is "t"
line 1: CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY window(v, '10 seconds')
                                                                          ^^^^^^
Detail: When a window of another column is complete cannot be known.

! CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY window(t, '500 milliseconds')
interval 500 milliseconds is finer than the time column
line 1: CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY window(t, '500 milliseconds')
                                                                          ^^^^^^
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

! CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds') SAMPLE REALTIME
SAMPLE does not go with group windows
line 1: CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds') SAMPLE REALTIME
                                                                                                  ^^^^^^^^^^^^^^^
Detail: The instants of this query are the ends of its windows: each is sent once, when it is closed.
Hint: Leave out SAMPLE; or give the table a window in brackets, and all of its groups are sent at each instant.

! CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r [ROWS 9] GROUP BY window(t, '10 seconds')
expected SAMPLE at the end of a continuous query, but found the end of the statement
line 1: CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r [ROWS 9] GROUP BY window(t, '10 seconds')
                                                                                                          ^
Detail: Its windows are those in brackets.
Hint: Write SAMPLE INTERVAL '1' MINUTE; or leave out the brackets, and each window is sent when it is closed.

! CREATE CONTINUOUS QUERY q AS SELECT DSTREAM COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds')
DSTREAM does not go with group windows
line 1: CREATE CONTINUOUS QUERY q AS SELECT DSTREAM COUNT(*) AS n FROM r GROUP BY window(t, '10 seconds')
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: A window that was sent stays as it is.

! CREATE CONTINUOUS QUERY q AS SELECT SUM(w) AS n FROM r GROUP BY window(t, '10 seconds')
column "w" does not exist in table "r"
line 1: CREATE CONTINUOUS QUERY q AS SELECT SUM(w) AS n FROM r GROUP BY window(t, '10 seconds')
                                                ^
Detail: There is: k, t, v.

! CREATE CONTINUOUS QUERY q AS SELECT a.k FROM TUMBLE(r, t, INTERVAL '1' MINUTE) a JOIN HOP(r, t, INTERVAL '1' SECOND, INTERVAL '1' MINUTE) b ON a.window_end = b.window_end
the windows of a continuous query end at the same times
line 1: CREATE CONTINUOUS QUERY q AS SELECT a.k FROM TUMBLE(r, t, INTERVAL '1' MINUTE) a JOIN HOP(r, t, INTERVAL '1' SECOND, INTERVAL '1' MINUTE) b ON a.window_end = b.window_end
                                                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: These are windows of 1 minute every 1 second, others of this query end at other times.
Hint: Make them streaming views, and join these.

! CREATE CONTINUOUS QUERY q AS SELECT a.k FROM TUMBLE(r, t, INTERVAL '1' MINUTE) a JOIN TUMBLE(r, t, INTERVAL '1' MINUTE) b ON a.k = b.k
group windows are joined window by window
line 1: CREATE CONTINUOUS QUERY q AS SELECT a.k FROM TUMBLE(r, t, INTERVAL '1' MINUTE) a JOIN TUMBLE(r, t, INTERVAL '1' MINUTE) b ON a.k = b.k
                                                                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: Write ... ON a.window_start = b.window_start AND a.window_end = b.window_end AND ...

! CREATE CONTINUOUS QUERY q AS SELECT x.n FROM (SELECT COUNT(*) AS n FROM r GROUP BY session_window(t, '5 minutes')) x
sessions of a continuous query are in its own FROM or GROUP BY, not in a subquery
line 1: CREATE CONTINUOUS QUERY q AS SELECT x.n FROM (SELECT COUNT(*) AS n FROM r GROUP BY session_window(t, '5 minutes')) x
                                                                                           ^^^^^^^^^^^^^^
Hint: Make the subquery a streaming view, and read that.

! CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY session_window(t, '5 minutes') ORDER BY n
ORDER BY does not go with sessions in a continuous query
line 1: CREATE CONTINUOUS QUERY q AS SELECT COUNT(*) AS n FROM r GROUP BY session_window(t, '5 minutes') ORDER BY n
                                                                          ^^^^^^^^^^^^^^
Detail: Each session is sent when it is closed.

! CREATE CONTINUOUS QUERY q AS SELECT window_start, COUNT(*) AS n FROM SESSION(r, t, INTERVAL '5' MINUTE) GROUP BY window_start
sessions of a continuous query are grouped by window_start and window_end
line 1: CREATE CONTINUOUS QUERY q AS SELECT window_start, COUNT(*) AS n FROM SESSION(r, t, INTERVAL '5' MINUTE) GROUP BY window_start
                                                                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

! SELECT COUNT(*) FROM r GROUP BY window(t, '10 seconds', '20 seconds')
windows of 10 seconds every 20 seconds leave rows out
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, '10 seconds', '20 seconds')
                                        ^^^^^^
Hint: Make the slide at most as long as the windows, and say in WHERE which rows count.

! SELECT COUNT(*) FROM r GROUP BY window(t, '1 month')
interval unit "month" cannot be used for a window or period
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, '1 month')
                                                  ^^^^^^^^^
Detail: Months and years have no fixed length.
Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK.

! SELECT COUNT(*) FROM r GROUP BY window(t, '0 seconds')
a window has a length of more than 0
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, '0 seconds')
                                        ^^^^^^

! SELECT COUNT(*) FROM r GROUP BY window(t, '10 seconds', '5 seconds', '5 seconds')
the offset of a window is shorter than its slide
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, '10 seconds', '5 seconds', '5 seconds')
                                        ^^^^^^

! SELECT COUNT(*) FROM r GROUP BY window(t, 10)
window needs lengths of time that are constants
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, 10)
                                        ^^^^^^
Hint: Write window(<time>, '10 seconds'[, <slide>[, <offset>]]).

! SELECT COUNT(*) FROM r GROUP BY window(t)
window is written window(<time>, '10 seconds'[, <slide>[, <offset>]])
line 1: SELECT COUNT(*) FROM r GROUP BY window(t)
                                        ^^^^^^

! SELECT COUNT(*) FROM r GROUP BY window(t, 'soon')
"soon" is not a length of time
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, 'soon')
                                                  ^^^^^^
Hint: Write a number and a unit, for example '10 seconds'.

! SELECT COUNT(*) FROM r GROUP BY window(t, '10 seconds'), window(t, '20 seconds')
a SELECT groups by one window
line 1: SELECT COUNT(*) FROM r GROUP BY window(t, '10 seconds'), window(t, '20 seconds')
                                                                 ^^^^^^
Detail: A row would be in the windows of each, in all combinations.
Hint: Ask one query for each window.

! SELECT COUNT(*) FROM TUMBLE(TABLE r, DESCRIPTOR(t))
TUMBLE is written TUMBLE(TABLE t, DESCRIPTOR(<time>), <size>[, <offset>])
line 1: SELECT COUNT(*) FROM TUMBLE(TABLE r, DESCRIPTOR(t))
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

! SELECT COUNT(*) FROM TUMBLE(TABLE r PARTITION BY k, DESCRIPTOR(t), INTERVAL '1' SECOND)
TUMBLE has no PARTITION BY
line 1: SELECT COUNT(*) FROM TUMBLE(TABLE r PARTITION BY k, DESCRIPTOR(t), INTERVAL '1' SECOND)
                                            ^^^^^^^^^^^^
Detail: All keys have the same windows.
Hint: Leave it out.

! SELECT COUNT(*) FROM TUMBLE(TABLE r, DESCRIPTOR(k), INTERVAL '1' SECOND)
column "k" has no times to group by
line 1: SELECT COUNT(*) FROM TUMBLE(TABLE r, DESCRIPTOR(k), INTERVAL '1' SECOND)
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: It is a STRING.
Hint: Group by a TIMESTAMP, or by whole numbers (seconds).

! SELECT COUNT(*) FROM TUMBLE(TABLE r, DESCRIPTOR(tt), INTERVAL '1' SECOND)
column "tt" does not exist in table "r"
line 1: SELECT COUNT(*) FROM TUMBLE(TABLE r, DESCRIPTOR(tt), INTERVAL '1' SECOND)
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: Did you mean "t"?

! SELECT COUNT(*) FROM HOP(TABLE r, DESCRIPTOR(t), INTERVAL '1' SECOND, INTERVAL '10' DAY)
a row would be in more than 100,000 windows
line 1: SELECT COUNT(*) FROM HOP(TABLE r, DESCRIPTOR(t), INTERVAL '1' SECOND, INTERVAL '10' DAY)
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: Make the slide longer.

! SELECT COUNT(*) FROM CUMULATE(TABLE r, DESCRIPTOR(t), INTERVAL '1' HOUR, INTERVAL '1' DAY)
CUMULATE is not supported
line 1: SELECT COUNT(*) FROM CUMULATE(TABLE r, DESCRIPTOR(t), INTERVAL '1' HOUR, INTERVAL '1' DAY)
                             ^^^^^^^^
Hint: Say it natively: t [LANDMARK DAY] ... SAMPLE INTERVAL '1' HOUR sends each hour what there is of the day.

! SELECT k, COUNT(*) FROM r WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k
WINDOW TUMBLING is not supported
line 1: SELECT k, COUNT(*) FROM r WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY k
                                  ^^^^^^^^^^^^^^^
Hint: Group by the window: SELECT k, window.start, COUNT(*) FROM s GROUP BY k, window(t, '10 seconds').

! SELECT k, COUNT(*) FROM r WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) GROUP BY k
WINDOW HOPPING is not supported
line 1: SELECT k, COUNT(*) FROM r WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS) GROUP BY k
                                  ^^^^^^^^^^^^^^
Hint: Group by the window: ... GROUP BY k, window(t, '30 seconds', '10 seconds').

! SELECT k, COUNT(*) FROM r WINDOW SESSION (5 MINUTES) GROUP BY k
WINDOW SESSION is not supported
line 1: SELECT k, COUNT(*) FROM r WINDOW SESSION (5 MINUTES) GROUP BY k
                                  ^^^^^^^^^^^^^^
Hint: Group by the session: ... GROUP BY k, session_window(t, '5 minutes').

! SELECT k FROM r EMIT CHANGES
EMIT CHANGES is not supported
line 1: SELECT k FROM r EMIT CHANGES
                        ^^^^^^^^^^^^
Hint: Send what is new: CREATE CONTINUOUS QUERY q AS SELECT ISTREAM ... SAMPLE REALTIME.

! CREATE CONTINUOUS QUERY q AS SELECT k FROM r [NOW] SAMPLE REALTIME EMIT FINAL
EMIT FINAL is not supported
line 1: CREATE CONTINUOUS QUERY q AS SELECT k FROM r [NOW] SAMPLE REALTIME EMIT FINAL
                                                                           ^^^^^^^^^^
Hint: Only group windows close. Group by the window: SELECT k, window.start, COUNT(*) FROM s GROUP BY k, window(t, '10 seconds').

! CREATE CONTINUOUS QUERY q AS SELECT k FROM r [NOW] EMIT ON WINDOW CLOSE
EMIT ON WINDOW CLOSE is not supported
line 1: CREATE CONTINUOUS QUERY q AS SELECT k FROM r [NOW] EMIT ON WINDOW CLOSE
                                                           ^^^^^^^^^^^^^^^^^^^^
Hint: Only group windows close. Group by the window: SELECT k, window.start, COUNT(*) FROM s GROUP BY k, window(t, '10 seconds').

! SELECT * FROM r MATCH_RECOGNIZE (ORDER BY t MEASURES a.v AS v PATTERN (a) DEFINE a AS a.v > 1)
MATCH_RECOGNIZE is not supported
line 1: SELECT * FROM r MATCH_RECOGNIZE (ORDER BY t MEASURES a.v AS v PATTERN (a) DEFINE a AS a.v > 1)
                        ^^^^^^^^^^^^^^^
Hint: Compare a row with those before it: SELECT ISTREAM ... FROM t [key ROWS 3] WHERE v > PREV(v) AND PREV(v) > PREV(v, 2).

! SELECT * FROM r JOIN r AS s FOR SYSTEM_TIME AS OF r.t ON r.k = s.k
FOR SYSTEM_TIME AS OF is not supported
line 1: SELECT * FROM r JOIN r AS s FOR SYSTEM_TIME AS OF r.t ON r.k = s.k
                                    ^^^^^^^^^^^^^^^
Hint: Leave it out: at each instant a continuous query sees standard tables as they are then, and streams through windows such as [key ROWS 1]. A one-time query ends with AS OF <time>.

! CREATE STREAMING TABLE x (k INT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL '5' SECOND)
WATERMARK FOR is not supported
line 1: CREATE STREAMING TABLE x (k INT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL '5' SECOND)
                                                      ^^^^^^^^^
Hint: Say it behind the columns: CREATE STREAMING TABLE ... (...) TIMESTAMP BY t LATENESS INTERVAL '5' SECOND.

! SELECT v FROM r [INTERVAL 0 BEFORE NOW]
window of 0 seconds has no rows
line 1: SELECT v FROM r [INTERVAL 0 BEFORE NOW]
                         ^^^^^^^^^^^^^^^^^^^^^
