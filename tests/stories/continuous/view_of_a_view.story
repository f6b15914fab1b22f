# a view can be windowed, joined and viewed again; what one sends at an instant the other sees at that instant
> CREATE STREAMING TABLE r (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE STREAMING VIEW segstat RANGE INTERVAL '5' MINUTE AS
      SELECT seg, AVG(spd) AS speed, COUNT(DISTINCT vid) AS cars FROM r [INTERVAL '1' MINUTE] GROUP BY seg
      SAMPLE INTERVAL '1' MINUTE
= streaming view "segstat" created

> CREATE STREAMING VIEW slow RANGE INTERVAL '2' MINUTE AS
      SELECT seg, speed FROM segstat [NOW] WHERE speed < 40 SAMPLE INTERVAL '1' MINUTE
> CREATE CONTINUOUS QUERY lasting AS
      SELECT seg, COUNT(*) AS minutes FROM slow [INTERVAL '2' MINUTE] GROUP BY seg SAMPLE INTERVAL '1' MINUTE
feed r
1 | 30 | 10 | 10
2 | 50 | 10 | 20
1 | 30 | 10 | 40
3 | 60 | 11 | 50
1 | 20 | 10 | 70
3 | 30 | 11 | 110
3 | 10 | 11 | 140
4 | 50 | 10 | 150
advance r 200
tick
changes~ segstat
: seg | speed | cars
+ 60 | 10 | 36.666666666666664 | 2
+ 60 | 11 | 60.0 | 1
+ 120 | 10 | 20.0 | 1
+ 120 | 11 | 30.0 | 1
+ 180 | 10 | 50.0 | 1
+ 180 | 11 | 10.0 | 1

changes~ slow
: seg | speed
+ 60 | 10 | 36.666666666666664
+ 120 | 10 | 20.0
+ 120 | 11 | 30.0
+ 180 | 11 | 10.0

changes~ lasting
: seg | minutes
+ 60 | 10 | 1
+ 120 | 10 | 2
+ 120 | 11 | 1
+ 180 | 10 | 2
+ 180 | 11 | 2

# results that are kept can be asked for; RANGE is counted from where time stands
? SELECT instant, seg, cars FROM segstat ORDER BY instant, seg
60 | 10 | 2
60 | 11 | 1
120 | 10 | 1
120 | 11 | 1
180 | 10 | 1
180 | 11 | 1

? SELECT instant, seg FROM slow ORDER BY instant, seg
120 | 10
120 | 11
180 | 11

? SELECT * FROM lasting ORDER BY seg
: seg | minutes | instant
10 | 2 | 180
11 | 2 | 180

? SELECT seg FROM segstat [seg ROWS 1] WHERE speed > 40
10

? SELECT seg, instant FROM segstat WHERE VALID(segstat) OVERLAPS PERIOD(60, 180) AND speed > 50
11 | 60

! DROP STREAMING VIEW segstat
streaming view "slow" reads "segstat"
Hint: Drop it first: DROP STREAMING VIEW slow.

! DROP TABLE r
streaming view "segstat" reads "r"
Hint: Drop it first: DROP STREAMING VIEW segstat.

> DROP CONTINUOUS QUERY lasting
= continuous query "lasting" dropped

> DROP STREAMING VIEW slow
= streaming view "slow" dropped

> DROP STREAMING VIEW segstat
> DROP TABLE r
