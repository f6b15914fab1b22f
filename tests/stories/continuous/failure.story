# a query that fails stops and says why; the others do not notice, and it can be taken up again
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY q AS SELECT v, 60 / v AS share FROM r [NOW] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY other AS SELECT v FROM r [NOW] SAMPLE REALTIME
feed r
2 | 1
advance r 2
tick
changes q
+ 1 | 2 | 30.0

feed r
0 | 2
3 | 3
advance r 4
tick
changes q

changes other
+ 1 | 2
+ 2 | 0
+ 3 | 3

? SHOW CONTINUOUS QUERIES
q | failed | realtime | rstream | 1 | 1 | 2 | the query failed: division by zero | NULL | NULL | NULL | SELECT v, 60 / v AS share FROM r [NOW]
other | running | realtime | rstream | 3 | 3 | 4 | NULL | NULL | NULL | NULL | SELECT v FROM r [NOW]

feed r
4 | 4
advance r 5
tick
changes q

> RESUME CONTINUOUS QUERY q
= "q" resumed

feed r
5 | 5
advance r 6
tick
changes q
+ 5 | 5 | 12.0

changes other
+ 4 | 4
+ 5 | 5
