# PREV of a column that does not exist says so
> CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
! CREATE CONTINUOUS QUERY x AS SELECT PREV(sege) AS p FROM r [vid ROWS 2] SAMPLE REALTIME
column "sege" does not exist in table "r"
line 1: CREATE CONTINUOUS QUERY x AS SELECT PREV(sege) AS p FROM r [vid ROWS 2] SAMPLE REALTIME
                                                 ^^^^
Hint: Did you mean "seg"?

