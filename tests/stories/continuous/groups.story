# aggregates, HAVING, DISTINCT, ORDER BY and window functions mean at each instant what they mean in a query asked once
> CREATE STREAMING TABLE r (vid INT, spd INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE CONTINUOUS QUERY busy AS
      SELECT seg, COUNT(DISTINCT vid) AS cars FROM r [INTERVAL 9] GROUP BY seg HAVING COUNT(DISTINCT vid) > 1 SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY segs AS SELECT DISTINCT seg FROM r [INTERVAL 9] SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY ranked AS
      SELECT vid, spd, RANK() OVER (ORDER BY spd DESC) AS place FROM r [INTERVAL 9] ORDER BY place, vid LIMIT 2 SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY total AS SELECT COUNT(*) AS n, SUM(spd) AS s FROM r [INTERVAL 9] SAMPLE INTERVAL 10
feed r
1 | 50 | 10 | 1
1 | 55 | 10 | 5
2 | 60 | 10 | 6
3 | 60 | 11 | 7
3 | NULL | 11 | 12
4 | 30 | 11 | 20
advance r 41
tick
changes busy
: seg | cars
+ 10 | 10 | 2
+ 20 | 11 | 2

changes~ segs
+ 10 | 10
+ 10 | 11
+ 20 | 11

changes ranked
+ 10 | 2 | 60 | 1
+ 10 | 3 | 60 | 1
+ 20 | 4 | 30 | 1
+ 20 | 3 | NULL | 2

# an aggregate without GROUP BY has a row also when the window is empty
changes total
+ 10 | 4 | 225
+ 20 | 2 | 30
+ 30 | 0 | NULL
+ 40 | 0 | NULL

