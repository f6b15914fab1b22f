# DROP TABLE does not take a continuous query for a table
gap all: it says that it dropped it
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME
! DROP TABLE q
"q" is a continuous query, not a table

! DROP STREAMING TABLE q
"q" is a continuous query, not a streaming table

