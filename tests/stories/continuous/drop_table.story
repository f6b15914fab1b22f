# DROP TABLE does not take a continuous query for a table
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME
! DROP TABLE q
"q" is a continuous query, not a streaming table

! DROP STREAMING TABLE q
"q" is a continuous query, not a streaming table

