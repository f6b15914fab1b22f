# columns may be offered by name, in any order and any case; those left out are NULL
> CREATE STREAMING TABLE r (a INT, b STRING, t BIGINT) TIMESTAMP BY t
feed r (t, A)
1 | 10
feed r (b, T)
x | 2
> INSERT INTO r (t, b) VALUES (3, 'y'), (4, 'z')
= 2 rows inserted
> INSERT INTO r SELECT a, b, t + 10 FROM r WHERE t >= 3
= 2 rows inserted
? SELECT * FROM r ORDER BY t
10 | NULL | 1
NULL | x | 2
NULL | y | 3
NULL | z | 4
NULL | y | 13
NULL | z | 14
