# a heartbeat, a new column and another heartbeat: the last heartbeat counts
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
advance r 10
> ALTER TABLE r ADD COLUMN w INT
advance r 20
now r
20

feed r
1 | 15 | 1
2 | 20 | 2
? SELECT * FROM r
2 | 20 | 2
