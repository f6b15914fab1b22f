# RSTREAM sends the result at each instant, ISTREAM what is new in it, DSTREAM what is gone from it
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY here AS SELECT v FROM r [INTERVAL 2] SAMPLE INTERVAL 1
> CREATE CONTINUOUS QUERY here_too AS SELECT RSTREAM v FROM r [INTERVAL 2] SAMPLE INTERVAL 1
> CREATE CONTINUOUS QUERY came AS SELECT ISTREAM v FROM r [INTERVAL 2] SAMPLE INTERVAL 1
> CREATE CONTINUOUS QUERY went AS SELECT DSTREAM v FROM r [INTERVAL 2] SAMPLE INTERVAL 1
# a value that is there twice and then three times is new once; NULL is a value
feed r
7 | 1
7 | 1
NULL | 2
8 | 2
7 | 3
advance r 7
tick
changes~ here
+ 1 | 7
+ 1 | 7
+ 2 | 7
+ 2 | 7
+ 2 | 8
+ 2 | NULL
+ 3 | 7
+ 3 | 7
+ 3 | 7
+ 3 | 8
+ 3 | NULL
+ 4 | 7
+ 4 | 8
+ 4 | NULL
+ 5 | 7

changes~ here_too
+ 1 | 7
+ 1 | 7
+ 2 | 7
+ 2 | 7
+ 2 | 8
+ 2 | NULL
+ 3 | 7
+ 3 | 7
+ 3 | 7
+ 3 | 8
+ 3 | NULL
+ 4 | 7
+ 4 | 8
+ 4 | NULL
+ 5 | 7

changes~ came
+ 1 | 7
+ 1 | 7
+ 2 | 8
+ 2 | NULL
+ 3 | 7

changes~ went
- 4 | 7
- 4 | 7
- 5 | 8
- 5 | NULL
- 6 | 7

# the result of the last instant has no rows any more; a table of what went shows what went then
? SELECT * FROM here

? SELECT * FROM went
7 | 6

