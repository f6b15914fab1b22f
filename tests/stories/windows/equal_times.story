# equal times are ordered by arrival, in every window and whatever the batches were
> CREATE STREAMING TABLE r (k STRING, v INT, t BIGINT) TIMESTAMP BY t
feed r
a | 1 | 5
b | 2 | 5
a | 3 | 5
feed r
b | 4 | 5
a | 5 | 5
? SELECT * FROM r [ROWS 3]
a | 5
b | 4
a | 3

? SELECT * FROM r [k ROWS 1]
a | 5
b | 4

? SELECT * FROM r [INTERVAL 0]
a | 5
b | 4
a | 3
b | 2
a | 1

? SELECT v FROM r [NOW]
5
4
3
2
1
