# [NOW] holds the rows of the instant, and NOW() is the instant
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY fresh AS SELECT v, NOW() AS n FROM r [NOW] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY ages AS SELECT v, NOW() - t AS age FROM r [INTERVAL 5] SAMPLE INTERVAL 4
> CREATE CONTINUOUS QUERY even AS SELECT v FROM r [NOW] SAMPLE INTERVAL 2
feed r
1 | 1
2 | 2
3 | 2
4 | 5
advance r 9
tick
changes~ fresh
: v | n
+ 1 | 1 | 1
+ 2 | 2 | 2
+ 2 | 3 | 2
+ 5 | 4 | 5

changes~ ages
+ 4 | 1 | 3
+ 4 | 2 | 2
+ 4 | 3 | 2
+ 8 | 4 | 3

# a row between two slides is in no [NOW]
changes~ even
+ 2 | 2
+ 2 | 3

