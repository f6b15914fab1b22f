# late = 'keep' keeps a late row only within the history period, judged row by row
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL 100 WITH (late = 'keep')
feed r
1 | 50
2 | -51
3 | -50
4 | 200
5 | 99
6 | 100
? SELECT v, t FROM r WHERE v > 3 ORDER BY v
4 | 200
6 | 100

? SELECT reason FROM r_rejected ORDER BY reason
late: t = -51 is before -50
late: t = 99 is before 100
