# RANGE can be set and lifted later; a lifted one keeps what is left
skip as-is, restart, no-index, one-row, one-shard, four-shards, reader: the tail is kept until it is archived
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 0
2 | 1000
3 | 100000
4 | 500000
> ALTER TABLE r SET RANGE INTERVAL 450000
? SELECT v FROM r ORDER BY v
3
4

> ALTER TABLE r SET RANGE UNBOUNDED
advance r 10000000
? SELECT v FROM r ORDER BY v
3
4
