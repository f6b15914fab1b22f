# lateness is judged by the rows before, also inside one batch; a rejected row moves nothing
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL 1
feed r
1 | 5
2 | 4
3 | 3
4 | 9
5 | 7
6 | 8
7 | 1000000
8 | 999998
? SELECT v, t FROM r ORDER BY v
1 | 5
2 | 4
4 | 9
6 | 8
7 | 1000000

? SELECT reason, row FROM r_rejected ORDER BY row
late: t = 3 is before 4 | {"v": 3, "t": 3}
late: t = 7 is before 8 | {"v": 5, "t": 7}
late: t = 999998 is before 999999 | {"v": 8, "t": 999998}

? SHOW TABLES
: name | kind | rows | watermark | range | lateness | rejected
r | streaming table | 5 | 999999 | forever | 1 second | 3
