# [INTERVAL i] holds the rows from now - i on; rows later than now are there too
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '5' SECOND
? SELECT * FROM r [INTERVAL 10]

feed r
1 | 85
2 | 89
3 | 90
4 | 95
5 | 100
now r
95

? SELECT * FROM r [INTERVAL 5]
5
4
3

? SELECT v, t FROM r [INTERVAL 6]
5 | 100
4 | 95
3 | 90
2 | 89

? SELECT v FROM r [INTERVAL '1' MINUTE] WHERE v < 3
2
1

advance r 101
? SELECT v FROM r [INTERVAL 5]
5

? SELECT count(*) FROM r [INTERVAL 0]
0

? SELECT count(*) FROM r
5
