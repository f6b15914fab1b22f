# LATENESS can be changed: more of it moves now back for rows, never below a heartbeat
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 100
> ALTER TABLE r SET LATENESS INTERVAL '30' SECOND
now r
70

feed r
2 | 70
3 | 69
? SELECT v FROM r ORDER BY v
1
2

> ALTER TABLE r SET (shards = 5)
feed r
4 | 80
? SELECT v FROM r ORDER BY v
1
2
4

! ALTER TABLE r SET LATENESS INTERVAL '1' MONTH
interval unit "month" cannot be used for a window or period
line 1: ALTER TABLE r SET LATENESS INTERVAL '1' MONTH
                                   ^^^^^^^^^^^^^^^^^^
Detail: Months and years have no fixed length.
Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK.

! ALTER TABLE r SET LATENESS INTERVAL '1' MILLISECOND
interval 1 millisecond is finer than the time column
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

