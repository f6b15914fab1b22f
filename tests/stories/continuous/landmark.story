# since a landmark: a window that begins anew at each, with exact aggregates too, in all forms
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k RANGE INTERVAL '2' HOUR
> CREATE CONTINUOUS QUERY totals RANGE UNBOUNDED AS
      SELECT SUM(v) AS s, COUNT(*) AS n FROM r [LANDMARK MINUTE] SAMPLE INTERVAL '20' SECOND
> CREATE CONTINUOUS QUERY gone AS SELECT DSTREAM k, v FROM r [LANDMARK MINUTE] SAMPLE INTERVAL '30' SECOND
> CREATE CONTINUOUS QUERY came AS SELECT ISTREAM k, COUNT(*) AS n FROM r [LANDMARK MINUTE] GROUP BY k SAMPLE REALTIME
feed r
1 | 10 | 5
2 | 20 | 40
1 | 30 | 60
1 | 40 | 61
advance r 121
tick
changes~ totals
: s | n
+ 20 | 10 | 1
+ 40 | 30 | 2
+ 60 | 30 | 1
+ 80 | 70 | 2
+ 100 | 70 | 2
+ 120 | NULL | 0
changes~ gone
: k | v
- 60 | 1 | 10
- 120 | 1 | 40
- 120 | 1 | 30
changes~ came
: k | n
+ 5 | 1 | 1
+ 40 | 2 | 1
+ 61 | 1 | 2
> ALTER CONTINUOUS QUERY totals SET WINDOW OF r = [LANDMARK INTERVAL '2' MINUTE]
feed r
2 | 50 | 130
advance r 161
tick
changes~ totals
+ 140 | 50 | 1
+ 160 | 50 | 1
! CREATE CONTINUOUS QUERY x AS SELECT v FROM r [LANDMARK DAY] SAMPLE REALTIME
the window of "r" is longer than "r" keeps its rows
Detail: They are kept for 2 hours, and the window has 1 day.
Hint: Keep them longer: ALTER STREAMING TABLE r SET RANGE INTERVAL ...; or make the window shorter.

