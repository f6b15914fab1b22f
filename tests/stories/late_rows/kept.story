# with late = 'keep' a late row is history: one-time queries see it, and it moves nothing
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 2 WITH (late = 'keep')
feed r
1 | 100
2 | 10
3 | -50
4 | 101
? SELECT * FROM r ORDER BY t
3 | -50
2 | 10
1 | 100
4 | 101

? SELECT * FROM r [ROWS 2]
4
1

now r
99

? SHOW REJECTED
r | 0 | 0 | 0

> ALTER TABLE r SET (late = 'reject')
feed r
5 | 98
6 | 99
? SELECT v FROM r WHERE v > 4
6
