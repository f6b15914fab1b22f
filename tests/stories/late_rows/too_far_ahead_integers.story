# integers are nobody's clock: there is no bound by default, and one that is given is measured from the rows before
> CREATE STREAMING TABLE free (v INT, t BIGINT) TIMESTAMP BY t
feed free
1 | 0
2 | 9000000000
? SELECT count(*) FROM free
2

> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 5 AHEAD INTERVAL 100
feed r
1 | 1000
2 | 5000
3 | 1100
4 | 1201
5 | 1200
? SELECT v FROM r ORDER BY v
1
3
5

? SELECT reason FROM r_rejected ORDER BY reason
too far ahead: t = 1201 is after 1200
too far ahead: t = 5000 is after 1100

now r
1195

> INSERT INTO r VALUES (6, 9999), (7, 1250)
? SELECT v FROM r WHERE v > 5
7
