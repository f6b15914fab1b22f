# several windows in one query: a self-join, a join of two streams at the time both have reached, a subquery, a union
> CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE STREAMING TABLE alarms (seg INT, at BIGINT) TIMESTAMP BY at SHARD BY seg
> CREATE CONTINUOUS QUERY together AS
      SELECT a.vid, b.vid AS other, a.seg FROM r [vid ROWS 1] a JOIN r [vid ROWS 1] b ON a.seg = b.seg AND a.vid < b.vid
      SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY warned AS
      SELECT r.vid, r.seg FROM r [INTERVAL 4] JOIN alarms [INTERVAL 9] ON r.seg = alarms.seg SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY first AS
      SELECT vid FROM r [INTERVAL 9] WHERE seg = (SELECT MAX(seg) FROM r [INTERVAL 9]) SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY unseen AS
      SELECT seg FROM alarms [INTERVAL 9] WHERE seg NOT IN (SELECT seg FROM r [INTERVAL 9]) SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY both AS
      SELECT 'report' AS what, seg FROM r [INTERVAL 9] UNION ALL SELECT 'alarm', seg FROM alarms [INTERVAL 9] SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY named AS
      WITH last AS (SELECT vid, seg FROM r [vid ROWS 1]) SELECT seg, COUNT(*) AS cars FROM last GROUP BY seg SAMPLE INTERVAL 10
feed r
1 | 10 | 5
2 | 10 | 7
3 | 11 | 8
1 | 11 | 16
advance r 25
tick
changes~ together
: vid | other | seg
+ 10 | 1 | 2 | 10
+ 20 | 1 | 3 | 11

changes~ first
+ 10 | 3
+ 20 | 1

changes~ named
+ 10 | 10 | 2
+ 10 | 11 | 1
+ 20 | 10 | 1
+ 20 | 11 | 2

# the other stream has no time yet, so a query over both waits
changes warned

feed alarms
10 | 4
11 | 12
12 | 15
tick
changes~ warned
+ 10 | 2 | 10

changes~ unseen

changes~ both
+ 10 | report | 10
+ 10 | report | 10
+ 10 | report | 11
+ 10 | alarm | 10

advance alarms 21
tick
changes~ warned
+ 20 | 1 | 11

changes~ unseen
+ 20 | 12

changes~ both
+ 20 | report | 11
+ 20 | alarm | 11
+ 20 | alarm | 12

