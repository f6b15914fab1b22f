# calls longer than the average call since midnight, for each origin, and what links carried near their peak
> CREATE STREAMING TABLE calls (origin STRING, duration INT, t BIGINT) TIMESTAMP BY t SHARD BY origin
> CREATE STREAMING TABLE links (bytes BIGINT, load DOUBLE, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY longer RANGE UNBOUNDED AS
      SELECT origin, CORRELATED_COUNT(duration > AVG(duration)) AS n FROM calls [LANDMARK DAY] GROUP BY origin SAMPLE REALTIME
> CREATE CONTINUOUS QUERY bounds RANGE UNBOUNDED AS
      SELECT CORRELATED_COUNT_LOWER(duration > AVG(duration)) AS low, CORRELATED_AVG(duration >= 2 * MIN(duration)) AS a
      FROM calls [LANDMARK DAY] SAMPLE INTERVAL '12' HOUR
> CREATE CONTINUOUS QUERY peak RANGE UNBOUNDED AS
      SELECT CORRELATED_SUM(bytes WHERE load >= 0.9 * MAX(load)) AS b FROM links [ROWS 500] SAMPLE INTERVAL '1' MINUTE
feed calls
oslo | 10 | 100
oslo | 40 | 200
rome | NULL | 200
oslo | 10 | 86399
rome | 5 | 86400
oslo | 10 | 86400
rome | 7 | 86500
advance calls 86501
feed links
100 | 0.5 | 1
200 | 0.95 | 30
300 | 1.0 | 60
400 | 0.9 | 61
500 | 0.1 | 119
600 | 2.0 | 121
advance links 181
tick
changes~ longer
: origin | n
+ 100 | oslo | 0.0
+ 200 | oslo | 1.0
+ 200 | rome | 0.0
+ 86399 | oslo | 1.0
+ 86399 | rome | 0.0
+ 86400 | rome | 0.0
+ 86400 | oslo | 0.0
+ 86500 | rome | 1.0
+ 86500 | oslo | 0.0
changes~ bounds
: low | a
+ 43200 | 1 | 40.0
+ 86400 | 1 | 10.0
changes~ peak
: b
+ 60 | 500.0
+ 120 | 900.0
+ 180 | 600.0
