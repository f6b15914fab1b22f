# Nexmark's query 21 calls regexp_extract, which is not proved on DuckDB: Spark evaluates it, with the same rows
skip restart, cold, cold-restart, one-row, no-index, one-shard, four-shards, reader: Spark takes seconds for each of its instants
> CREATE STREAMING TABLE bid (auction INT, channel STRING, url STRING, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q21 AS SELECT auction, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bid [NOW] SAMPLE REALTIME
feed bid
1001 | apple | https://m.com/item/one/x | 4
1002 | other | https://m.com/cat/two&channel_id=c3 | 6
advance bid 20
tick
changes~ q21
+ 4 | 1001 | 0
+ 6 | 1002 | c3

