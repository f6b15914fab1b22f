# DESCRIBE tells the time column, the shard key and the indexes
skip no-index: it describes an index
> CREATE STREAMING TABLE r (vid INT, name STRING, price DECIMAL(10, 2), day DATE, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 3)
> CREATE INDEX ON r (vid)
= index "r_vid" created on r (vid)
> CREATE INDEX by_name ON r (name)
? DESCRIBE r
: column | type | note

? DESC TABLE r_rejected

? SHOW INDEXES
: name | table | columns

> CREATE INDEX IF NOT EXISTS by_name ON r (name)
= the index exists already
> DROP INDEX by_name
= index "by_name" dropped
> DROP INDEX IF EXISTS by_name
= there is no index "by_name"
? SHOW INDEXES

