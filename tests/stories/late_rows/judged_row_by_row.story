# lateness is judged by the rows before, also inside one batch; a rejected row moves nothing
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 5
2 | 4
3 | 5
4 | 9
5 | 8
6 | 9
? SELECT v, t FROM r ORDER BY v
1 | 5
3 | 5
4 | 9
6 | 9

? SELECT reason, row FROM r_rejected ORDER BY row
late: t = 4 is before 5 | {"v": 2, "t": 4}
late: t = 8 is before 9 | {"v": 5, "t": 8}

? SHOW TABLES
: name | kind | rows | now | range | lateness | rejected
r | streaming table | 4 | 9 | forever | 0 seconds | 2
