# [ROWS k] holds the k newest rows, equal times in order of arrival; in real time each time at which a row came is an instant
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY newest AS SELECT * FROM r [ROWS 2] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY sums AS SELECT SUM(v) AS s, COUNT(*) AS n FROM r [ROWS 3] SAMPLE INTERVAL 5
feed r
1 | 1
2 | 3
3 | 3
4 | 3
5 | 9
advance r 10
tick
changes newest
+ 1 | 1
+ 3 | 4
+ 3 | 3
+ 9 | 5
+ 9 | 4

# without rows in between the window stays as it is, and the slides go on
changes sums
: s | n
+ 5 | 9 | 3

advance r 21
tick
changes newest

changes sums
+ 10 | 12 | 3
+ 15 | 12 | 3
+ 20 | 12 | 3

