# [LANDMARK DAY] holds the rows since midnight, [LANDMARK INTERVAL ...] those since the last multiple of a length of time
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE c (v INT, at TIMESTAMP) TIMESTAMP BY at
? SELECT * FROM r [LANDMARK DAY]
feed r
1 | -1
2 | 0
3 | 3599
4 | 3600
5 | 3661
? SELECT * FROM r [LANDMARK DAY]
5
4
3
2
? SELECT * FROM r [LANDMARK HOUR]
5
4
? SELECT * FROM r [LANDMARK MINUTE]
5
? SELECT * FROM r [LANDMARK INTERVAL '45' MINUTE]
5
4
3
? SELECT COUNT(*), AVG(v) FROM r [LANDMARK HOUR] WHERE v <> 4
1 | 5.0
advance r 86400
? SELECT * FROM r [LANDMARK DAY]
feed c
1 | 2026-03-01 23:59:59.999999
2 | 2026-03-02 00:00:00
3 | 2026-03-02 12:00:00
? SELECT v FROM c [LANDMARK DAY]
3
2
? SELECT v FROM c [LANDMARK HOUR]
3
! SELECT * FROM r [LANDMARK MONTH]
LANDMARK MONTH is not supported
line 1: SELECT * FROM r [LANDMARK MONTH]
                                  ^^^^^
Detail: Landmarks are the multiples of one length, and not every MONTH has the same.
Hint: Write LANDMARK DAY, HOUR or MINUTE, or LANDMARK INTERVAL '7' DAY.

! SELECT * FROM r [LANDMARK INTERVAL '500' MILLISECOND]
interval 500 milliseconds is finer than the time column
line 1: SELECT * FROM r [LANDMARK INTERVAL '500' MILLISECOND]
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

