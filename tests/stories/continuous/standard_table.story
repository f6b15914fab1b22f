# a continuous query joins with a standard table as it is then: a change is seen at the next instant
> CREATE STREAMING TABLE r (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE STANDARD TABLE criticalsegs (seg INT, name STRING)
> INSERT INTO criticalsegs VALUES (10, 'bridge')
> CREATE STREAMING VIEW segstat RANGE INTERVAL 60 AS
      SELECT seg, MIN(spd) AS speed FROM r [INTERVAL 9] GROUP BY seg SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY jams AS
      SELECT s.*, c.name FROM segstat [NOW] s JOIN criticalsegs c ON s.seg = c.seg WHERE s.speed < 40 SAMPLE INTERVAL 10
feed r
1 | 30 | 10 | 5
2 | 20 | 11 | 6
advance r 11
tick
changes jams
: seg | speed | name
+ 10 | 10 | 30 | bridge

> INSERT INTO criticalsegs VALUES (11, 'tunnel')
feed r
1 | 30 | 10 | 15
2 | 20 | 11 | 16
advance r 21
tick
changes~ jams
+ 20 | 10 | 30 | bridge
+ 20 | 11 | 20 | tunnel

> DELETE FROM criticalsegs WHERE seg = 10
> UPDATE criticalsegs SET name = 'long tunnel' WHERE seg = 11
feed r
1 | 30 | 10 | 25
2 | 25 | 11 | 26
advance r 31
tick
changes jams
+ 30 | 11 | 25 | long tunnel

! DROP TABLE criticalsegs
continuous query "jams" reads "criticalsegs"
Hint: Drop it first: DROP CONTINUOUS QUERY jams.

