# expiry drops whole compartments: between one history period and one and a tenth is kept
skip as-is, restart, no-index, one-row, one-shard, four-shards, reader: the tail is kept until it is archived
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL 100
feed r
1 | 0
2 | 9
3 | 10
4 | 19
5 | 20
6 | 110
# now = 110: what is older than 10 may go; the compartment 0-9 lies wholly before
? SELECT v, t FROM r ORDER BY t
3 | 10
4 | 19
5 | 20
6 | 110

advance r 119
? SELECT t FROM r ORDER BY t
10
19
20
110

advance r 120
? SELECT t FROM r ORDER BY t
20
110

advance r 1000
? SELECT t FROM r

feed r
7 | 1000
? SELECT t FROM r
1000
