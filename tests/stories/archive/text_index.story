# an index on text finds what a scan finds, in every tier
> CREATE STREAMING TABLE r (name STRING, day DATE, v INT, t BIGINT) TIMESTAMP BY t
> CREATE INDEX ON r (name)
feed r
b | 2026-01-02 | 1 | 1
a | 2026-01-01 | 2 | 2
NULL | NULL | 3 | 3
é | 2026-01-02 | 4 | 4
'' | 2025-12-31 | 5 | 5
B | 2026-01-02 | 6 | 6
? SELECT v FROM r WHERE name = 'b'
1

? SELECT v FROM r WHERE name = ''
5

? SELECT v FROM r WHERE name IN ('é', 'B', 'zz') ORDER BY v
4
6

? SELECT v FROM r WHERE day = DATE '2026-01-02' ORDER BY v
1
4
6

? SELECT v FROM r WHERE day = '2026-01-02' AND name = 'é'
4

? SELECT v FROM r WHERE name IS NULL
3

? SELECT v FROM r WHERE name > 'a' ORDER BY v
1
4

? SELECT v FROM r WHERE day < DATE '2026-01-01'
5
