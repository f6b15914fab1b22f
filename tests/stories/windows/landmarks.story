# [SINCE t] begins at a fixed time, [UNBOUNDED] holds everything, [NOW] only the rows of this instant
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | -5
2 | 0
3 | 7
4 | 7
? SELECT * FROM r [SINCE 0]
4
3
2

? SELECT * FROM r [SINCE -5]
4
3
2
1

? SELECT * FROM r [UNBOUNDED]
4
3
2
1

? SELECT * FROM r [NOW]
4
3

advance r 8
? SELECT * FROM r [NOW]

