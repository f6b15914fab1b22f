# an index is made once
skip no-index: it is about an index
> CREATE STREAMING TABLE r (v INT, w INT, t BIGINT) TIMESTAMP BY t
> CREATE INDEX by_v ON r (v)
! CREATE INDEX by_v ON r (w)
index "by_v" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE INDEX other ON r (v)
column "v" of "r" is indexed already by "by_v"

! DROP INDEX by_w
index "by_w" does not exist
Hint: Did you mean "by_v"?

