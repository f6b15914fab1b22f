# VALID(t) OVERLAPS PERIOD(a, b) is half-open: a belongs to it, b does not
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t
feed r
1 | -10
2 | 0
3 | 600
4 | 1199
5 | 1200
feed s
9 | 600
? SELECT v, t FROM r WHERE VALID(r) OVERLAPS PERIOD(600, 1200) ORDER BY t
3 | 600
4 | 1199

? SELECT v FROM r WHERE VALID(r) OVERLAPS PERIOD(-10, 1) AND v > 1
2

? SELECT count(*) FROM r WHERE VALID(r) OVERLAPS PERIOD(5, 5)
0

? SELECT v FROM r x WHERE NOT VALID(x) OVERLAPS PERIOD(0, 1200) ORDER BY v
1
5

? SELECT r.v, s.v FROM r JOIN s ON r.t = s.t WHERE VALID(r) OVERLAPS PERIOD(0, 700) AND VALID(s) OVERLAPS PERIOD(0, 700)
3 | 9

! SELECT v FROM r WHERE VALID(q) OVERLAPS PERIOD(1, 2)
table "q" does not exist in this FROM
line 1: SELECT v FROM r WHERE VALID(q) OVERLAPS PERIOD(1, 2)
                                    ^
Detail: There is: r.

! SELECT v FROM r WHERE VALID(r) OVERLAPS 5
OVERLAPS is written VALID(<table>) OVERLAPS PERIOD(<from>, <to>)
line 1: SELECT v FROM r WHERE VALID(r) OVERLAPS 5
                              ^^^^^^^^^^^^^^^^^^^

