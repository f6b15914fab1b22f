# what is new is told against what was sent, also when a standard table changed while nobody looked
> CREATE STREAMING TABLE r (k INT, t BIGINT) TIMESTAMP BY t
> CREATE STANDARD TABLE d (k INT, w INT)
> CREATE CONTINUOUS QUERY q AS SELECT ISTREAM r.k, d.w FROM r [ROWS 3] JOIN d ON r.k = d.k SAMPLE REALTIME
> CREATE CONTINUOUS QUERY g AS SELECT DSTREAM r.k, d.w FROM r [ROWS 3] JOIN d ON r.k = d.k SAMPLE REALTIME
> INSERT INTO d VALUES (1, 10)
feed r
1 | 0
advance r 1
tick
changes q
: k | w
+ 0 | 1 | 10

> INSERT INTO d VALUES (1, 11), (2, 20)
> DELETE FROM d WHERE w = 10
feed r
2 | 5
advance r 6
tick
changes~ q
+ 5 | 1 | 11
+ 5 | 2 | 20
changes g
: k | w
- 5 | 1 | 10
