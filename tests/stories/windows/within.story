# [cols ROWS k WITHIN INTERVAL i] forgets keys that were silent for longer than i
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 10 | 0
2 | 20 | 50
1 | 11 | 60
3 | 30 | 100
2 | 21 | 100
? SELECT * FROM r [k ROWS 2 WITHIN INTERVAL 50]
2 | 21
3 | 30
1 | 11
2 | 20

advance r 120
? SELECT * FROM r [k ROWS 2 WITHIN INTERVAL 50]
2 | 21
3 | 30
