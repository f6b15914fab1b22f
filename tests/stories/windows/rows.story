# [ROWS k] holds the k newest rows of the table; a condition chooses among them, not before
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k
feed r
1 | 10 | 1
2 | 20 | 2
1 | 30 | 3
2 | 40 | 4
1 | 50 | 5
? SELECT * FROM r [ROWS 2]
1 | 50
2 | 40

? SELECT v FROM r [ROWS 3] WHERE k = 1
50
30

? SELECT v FROM r [ROWS 3] WHERE t >= 4
50
40

? SELECT v FROM r [ROWS 3] WHERE t < 4
30

? SELECT v FROM r [ROWS 100]
50
40
30
20
10

? SELECT k, sum(v) AS total FROM r [ROWS 4] GROUP BY k ORDER BY k
: k | total
1 | 80
2 | 60
