# many small feeds are compacted; nothing is lost, doubled or moved
with block_rows=64
> CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t
feed r
0 | 0
feed r
1 | 1
feed r
2 | 2
feed r
3 | 3
feed r
4 | 3
feed r
5 | 3
feed r
6 | 6
feed r
7 | 7
feed r
8 | 8
feed r
9 | 9
feed r
10 | 10
? SELECT count(*), sum(k), min(t), max(t) FROM r
11 | 55 | 0 | 10

? SELECT k FROM r [ROWS 9]
10
9
8
7
6
5
4
3
2
