# FROM a time to come a query begins then
gap all: it begins at once
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 11
advance r 13
tick
> CREATE CONTINUOUS QUERY later FROM 20 AS SELECT COUNT(*) AS n FROM r [INTERVAL 9] SAMPLE INTERVAL 5
feed r
2 | 14
advance r 26
tick
changes later
+ 20 | 2
+ 25 | 0
