# SAMPLE EACH ROW: rows of equal time are instants one after the other, in order of arrival, so that no transition is lost
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k LATENESS INTERVAL 3
> CREATE CONTINUOUS QUERY together AS SELECT ISTREAM k, PREV(v) AS before, v AS now_v FROM r [k ROWS 2] WHERE v <> PREV(v) SAMPLE REALTIME
> CREATE CONTINUOUS QUERY moves AS SELECT ISTREAM k, PREV(v) AS before, v AS now_v FROM r [k ROWS 2] WHERE v <> PREV(v) SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY newest AS SELECT k, PREV(v) AS before, v AS now_v FROM r [k ROWS 2] WHERE t = NOW() SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY arrived AS SELECT k, v, NOW() AS n FROM r [NOW] SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY earlier AS SELECT COUNT(*) AS n, SUM(v) AS total FROM r [INTERVAL 4] WHERE t < NOW() SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY last_two AS SELECT v FROM r [ROWS 2] SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY totals AS SELECT ISTREAM k, SUM(v) AS total FROM r [UNBOUNDED] GROUP BY k SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY all_totals AS SELECT k, SUM(v) AS total FROM r [UNBOUNDED] GROUP BY k SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY gone AS SELECT DSTREAM v FROM r [k ROWS 1] SAMPLE EACH ROW
feed r
1 | 1 | 1
1 | 2 | 5
2 | 7 | 4
1 | 3 | 5
1 | 4 | 5
advance r 9
tick
changes together
: k | before | now_v
+ 5 | 1 | 3 | 4
changes moves
: k | before | now_v
+ 5 | 1 | 1 | 2
+ 5 | 1 | 2 | 3
+ 5 | 1 | 3 | 4
changes newest
: k | before | now_v
+ 1 | 1 | NULL | 1
+ 4 | 2 | NULL | 7
+ 5 | 1 | 1 | 2
+ 5 | 1 | 2 | 3
+ 5 | 1 | 3 | 4
changes arrived
: k | v | n
+ 1 | 1 | 1 | 1
+ 4 | 2 | 7 | 4
+ 5 | 1 | 2 | 5
+ 5 | 1 | 3 | 5
+ 5 | 1 | 4 | 5
changes earlier
: n | total
+ 1 | 0 | NULL
+ 4 | 1 | 1
+ 5 | 2 | 8
+ 5 | 3 | 10
+ 5 | 4 | 13
changes last_two
: v
+ 1 | 1
+ 4 | 7
+ 4 | 1
+ 5 | 2
+ 5 | 7
+ 5 | 3
+ 5 | 2
+ 5 | 4
+ 5 | 3
changes totals
: k | total
+ 1 | 1 | 1
+ 4 | 2 | 7
+ 5 | 1 | 3
+ 5 | 1 | 6
+ 5 | 1 | 10
changes~ all_totals
: k | total
+ 1 | 1 | 1
+ 4 | 1 | 1
+ 4 | 2 | 7
+ 5 | 1 | 3
+ 5 | 2 | 7
+ 5 | 1 | 6
+ 5 | 2 | 7
+ 5 | 1 | 10
+ 5 | 2 | 7
changes gone
: v
- 5 | 1
- 5 | 2
- 5 | 3
? SELECT name, sample FROM millpond.queries WHERE name IN ('moves', 'together') ORDER BY name
moves | each row
together | realtime

# a query can change over to it and back
> ALTER CONTINUOUS QUERY together SET SAMPLE EACH ROW
> ALTER CONTINUOUS QUERY moves SET SAMPLE REALTIME
feed r
1 | 5 | 10
1 | 6 | 10
1 | 7 | 10
advance r 14
tick
changes together
+ 10 | 1 | 4 | 5
+ 10 | 1 | 5 | 6
+ 10 | 1 | 6 | 7
changes moves
+ 10 | 1 | 6 | 7

> CREATE STREAMING TABLE s (k INT, t BIGINT) TIMESTAMP BY t
! CREATE CONTINUOUS QUERY x AS SELECT r.v FROM r [NOW] JOIN s [NOW] ON r.k = s.k SAMPLE EACH ROW
SAMPLE EACH ROW needs one streaming table
Detail: Rows of r and s that have the same time came in no order that is known.
Hint: Write SAMPLE REALTIME: rows of equal time are seen together.

! CREATE CONTINUOUS QUERY x AS SELECT format_number(v, 2) AS f FROM r [NOW] SAMPLE EACH ROW
SAMPLE EACH ROW needs a query that DuckDB is proved to answer
Detail: Spark would have to be asked at each row: function format_number is only supported on Spark.
Hint: Write SAMPLE REALTIME, or SAMPLE INTERVAL.
