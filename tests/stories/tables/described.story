# DESCRIBE tells the time column, the shard key and the indexes
skip no-index: it describes an index
> CREATE STREAMING TABLE r (vid INT, name STRING, price DECIMAL(10, 2), day DATE, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 3)
> CREATE INDEX ON r (vid)
= index "r_vid" created on r (vid)
> CREATE INDEX by_name ON r (name)
? DESCRIBE r
: column | type | note
vid | INT | shard key, 3 shards; index r_vid
name | STRING | index by_name
price | DECIMAL(10,2) | ''
day | DATE | ''
t | BIGINT | time

? DESC TABLE r_rejected
arrival | TIMESTAMP | ''
reason | STRING | ''
source | STRING | ''
position | STRING | ''
row | STRING | ''

? SHOW INDEXES
: name | table | columns
r_vid | r | vid
by_name | r | name

> CREATE INDEX IF NOT EXISTS by_name ON r (name)
= the index exists already
> DROP INDEX by_name
= index "by_name" dropped
> DROP INDEX IF EXISTS by_name
= there is no index "by_name"
? SHOW INDEXES
r_vid | r | vid

