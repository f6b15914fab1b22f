# over [UNBOUNDED]: sums of doubles and decimals, no GROUP BY, HAVING, groups of expressions, distinct values
> CREATE STREAMING TABLE s (k INT, x DOUBLE, p DECIMAL(8, 2), w STRING, t BIGINT) TIMESTAMP BY t SHARD BY k
> CREATE CONTINUOUS QUERY sums AS
      SELECT ISTREAM k, SUM(x) AS s, AVG(x) AS a, MIN(x) AS l, MAX(x) AS h, SUM(p) AS d, AVG(p) AS m
      FROM s [UNBOUNDED] GROUP BY k SAMPLE REALTIME
> CREATE CONTINUOUS QUERY total AS
      SELECT COUNT(*) AS n, SUM(x) AS s, COUNT(DISTINCT w) AS u FROM s [UNBOUNDED] SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY came AS SELECT ISTREAM COUNT(*) AS n, SUM(p) AS s FROM s [UNBOUNDED] WHERE k > 1 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY went AS SELECT DSTREAM COUNT(*) AS n, SUM(p) AS s FROM s [UNBOUNDED] WHERE k > 1 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY often AS
      SELECT ISTREAM k, SUM(x) / COUNT(*) AS mean FROM s [UNBOUNDED] GROUP BY k HAVING COUNT(*) > 1 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY small AS
      SELECT DSTREAM k, COUNT(*) AS n FROM s [UNBOUNDED] GROUP BY k HAVING SUM(x) < 1 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY tens AS
      SELECT t div 10 AS ten, COUNT(*) AS n, SUM(x * 2) AS y FROM s [UNBOUNDED] GROUP BY t div 10 SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY kinds AS SELECT ISTREAM k, COUNT(DISTINCT w) AS u FROM s [UNBOUNDED] GROUP BY k SAMPLE REALTIME
feed s
1 | 0.1 | 1.00 | a | 1
1 | 0.2 | 0.05 | b | 2
2 | 1e300 | NULL | a | 2
2 | -1e300 | 3 | NULL | 3
2 | 0.3 | 3 | a | 4
advance s 11
tick
changes~ sums
+ 1 | 1 | 0.1 | 0.1 | 0.1 | 0.1 | 1.00 | 1.000000
+ 2 | 1 | 0.30000000000000004 | 0.15000000000000002 | 0.1 | 0.2 | 1.05 | 0.525000
+ 2 | 2 | 1e+300 | 1e+300 | 1e+300 | 1e+300 | NULL | NULL
+ 3 | 2 | 0.0 | 0.0 | -1e+300 | 1e+300 | 3.00 | 3.000000
+ 4 | 2 | 0.3 | 0.09999999999999999 | -1e+300 | 1e+300 | 6.00 | 3.000000
changes~ total
+ 10 | 5 | 0.6 | 2
changes~ came
+ 1 | 0 | NULL
+ 2 | 1 | NULL
+ 3 | 2 | 3.00
+ 4 | 3 | 6.00
changes~ went
- 2 | 0 | NULL
- 3 | 1 | NULL
- 4 | 2 | 3.00
changes~ often
+ 2 | 1 | 0.15000000000000002
+ 3 | 2 | 0.0
+ 4 | 2 | 0.09999999999999999
changes~ small
- 2 | 1 | 1
- 4 | 2 | 2
changes~ tens
+ 10 | 0 | 5 | 1.2
changes~ kinds
+ 1 | 1 | 1
+ 2 | 1 | 2
+ 2 | 2 | 1

feed s
2 | 5.0 | 1.00 | z | 22
advance s 31
tick
changes~ total
+ 20 | 5 | 0.6 | 2
+ 30 | 6 | 5.6 | 3
changes~ came
+ 22 | 4 | 7.00
changes~ small
- 22 | 2 | 3
changes~ tens
+ 20 | 0 | 5 | 1.2
+ 30 | 0 | 5 | 1.2
+ 30 | 2 | 1 | 10.0
changes~ kinds
+ 22 | 2 | 2
