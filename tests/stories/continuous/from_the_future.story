# FROM is a time in the past
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | 11
advance r 13
tick
! CREATE CONTINUOUS QUERY later FROM 20 AS SELECT COUNT(*) AS n FROM r [INTERVAL 9] SAMPLE INTERVAL 5
query "later" cannot begin at 20: time stands at 13
Hint: Leave out FROM to begin now.

> CREATE CONTINUOUS QUERY here FROM 13 AS SELECT COUNT(*) AS n FROM r [INTERVAL 9] SAMPLE INTERVAL 5
advance r 21
tick
changes here
+ 15 | 1
+ 20 | 1
