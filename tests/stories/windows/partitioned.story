# [cols ROWS k] holds the k newest rows for each value of the columns, NULL being a value like any other
> CREATE STREAMING TABLE r (k INT, d INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k
> CREATE INDEX ON r (k)
feed r
1 | 0 | 10 | 1
1 | 1 | 11 | 2
2 | 0 | 20 | 3
NULL | 0 | 90 | 4
1 | 0 | 12 | 5
NULL | 0 | 91 | 6
2 | NULL | 21 | 7
? SELECT * FROM r [k ROWS 1]
2 | NULL | 21
NULL | 0 | 91
1 | 0 | 12

? SELECT v FROM r [k, d ROWS 1]
21
91
12
20
11

? SELECT v FROM r [k ROWS 2] WHERE k = 1
12
11

? SELECT v FROM r [k ROWS 1] WHERE v < 20
12

? SELECT v FROM r [k ROWS 1] WHERE d = 1

? SELECT v FROM r [k ROWS 2] WHERE k IN (1, 2)
21
12
20
11

? SELECT v FROM r [K ROWS 1] WHERE K IS NULL
91
