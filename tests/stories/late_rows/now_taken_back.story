# a wrong time is taken back; rows beyond it are rejected, and a query that has passed it begins anew there
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT v FROM r [NOW] SAMPLE REALTIME
feed r
1 | 10
2 | 900000
3 | 20
? SELECT v FROM r ORDER BY v
1
2

now r
900000

! ALTER STREAMING TABLE r SET NOW 1000000
table "r" stands at 900000; SET NOW only takes time back
Hint: A heartbeat moves time on: advance() in Python.

> ALTER STREAMING TABLE r SET NOW 15
now r
15

? SELECT v FROM r ORDER BY v
1

? SELECT reason, source, row FROM r_rejected ORDER BY reason
late: t = 20 is before 900000 | append | {"v": 3, "t": 20}
too far ahead: t = 900000 is after 15, by SET NOW | SET NOW | {"v": 2, "t": 900000}

feed r
4 | 20
5 | 14
6 | 30
advance r 40
? SELECT v FROM r ORDER BY v
1
4
6
