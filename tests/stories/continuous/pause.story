# a paused query sends nothing; resumed it goes on with the time of then, its windows filled from history
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q AS SELECT SUM(v) AS s FROM r [INTERVAL 12] SAMPLE INTERVAL 5
> CREATE CONTINUOUS QUERY other AS SELECT SUM(v) AS s FROM r [INTERVAL 12] SAMPLE INTERVAL 5
feed r
1 | 4
2 | 9
advance r 11
tick
changes q
+ 5 | 1
+ 10 | 3

> PAUSE CONTINUOUS QUERY q
= "q" paused

> PAUSE CONTINUOUS QUERY q
= "q" is paused already

feed r
4 | 14
advance r 16
tick
changes q

? SELECT * FROM q
3 | 10

> RESUME CONTINUOUS QUERY q
= "q" resumed

> RESUME CONTINUOUS QUERY q
= "q" is running already

tick
changes q

feed r
8 | 19
advance r 21
tick
changes q
+ 20 | 14

changes other
+ 5 | 1
+ 10 | 3
+ 15 | 7
+ 20 | 14

! PAUSE CONTINUOUS QUERY p
continuous query "p" does not exist
Detail: There is: other, q.

! RESUME CONTINUOUS QUERY r
"r" is a streaming table, not a continuous query

