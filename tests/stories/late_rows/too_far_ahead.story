# one row of the year 9999 is rejected; it does not make the others late. By default a TIMESTAMP may be one day ahead
> CREATE STREAMING TABLE r (v INT, at TIMESTAMP) TIMESTAMP BY at
feed r
1 | 2026-01-01 00:00:00
2 | 9999-12-31 00:00:00
3 | 2026-01-01 00:00:01
? SELECT v FROM r ORDER BY v
1
3

? SELECT substring(reason, 1, 59) FROM r_rejected
too far ahead: at = 9999-12-31 00:00:00 is after 2027-01-02

? SHOW REJECTED
: name | late | ahead | malformed
r | 0 | 1 | 0

> ALTER STREAMING TABLE r SET AHEAD UNBOUNDED
feed r
4 | 2030-01-01 00:00:00
> ALTER STREAMING TABLE r SET AHEAD INTERVAL '1' HOUR
feed r
5 | 2031-01-01 00:00:00
? SELECT v FROM r ORDER BY v
1
3
4
