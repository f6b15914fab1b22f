# a heartbeat promises that nothing earlier comes; what comes all the same is late, within the lateness or not
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 10
now r
NULL

advance r 50
now r
50

feed r
1 | 49
2 | 50
3 | 70
now r
60

advance r 55
now r
60

advance r 65
feed r
4 | 64
5 | 65
? SELECT v FROM r ORDER BY v
2
3
5

? SELECT reason FROM r_rejected ORDER BY position, reason
late: t = 49 is before 50
late: t = 64 is before 65
