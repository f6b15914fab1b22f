# [UNBOUNDED] holds every row there ever was; aggregates of it are kept as one row a group
> CREATE STREAMING TABLE charges (vid INT, toll INT, t BIGINT) TIMESTAMP BY t SHARD BY vid
> CREATE STREAMING VIEW accounts RANGE UNBOUNDED AS
      SELECT ISTREAM vid, SUM(toll) AS balance, MAX(toll) AS most FROM charges [UNBOUNDED] GROUP BY vid SAMPLE REALTIME
> CREATE CONTINUOUS QUERY gone AS
      SELECT DSTREAM vid, COUNT(*) AS n FROM charges [UNBOUNDED] WHERE toll > 5 GROUP BY vid SAMPLE REALTIME
> CREATE CONTINUOUS QUERY every_ten AS
      SELECT vid, AVG(toll) AS mean FROM charges [UNBOUNDED] GROUP BY vid SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY asked AS
      SELECT c.vid, a.balance FROM charges [NOW] c JOIN accounts [vid ROWS 1] a ON a.vid = c.vid SAMPLE REALTIME
feed charges
1 | 10 | 0
2 | 4 | 0
1 | 20 | 5
2 | 0 | 5
NULL | 7 | 8
1 | NULL | 9
advance charges 10
tick
changes~ accounts
: vid | balance | most
+ 0 | 1 | 10 | 10
+ 0 | 2 | 4 | 4
+ 5 | 1 | 30 | 20
+ 8 | NULL | 7 | 7
changes~ gone
: vid | n
- 5 | 1 | 1
changes~ every_ten
: vid | mean
+ 0 | 1 | 10.0
+ 0 | 2 | 4.0
changes~ asked
: vid | balance
+ 0 | 1 | 10
+ 0 | 2 | 4
+ 5 | 1 | 30
+ 5 | 2 | 4
+ 9 | 1 | 30

feed charges
1 | 6 | 11
1 | 6 | 11
2 | 6 | 12
advance charges 21
tick
changes~ accounts
+ 11 | 1 | 42 | 20
+ 12 | 2 | 10 | 6
changes~ gone
- 11 | 1 | 2
changes~ every_ten
+ 10 | 1 | 15.0
+ 10 | 2 | 2.0
+ 10 | NULL | 7.0
+ 20 | 1 | 10.5
+ 20 | 2 | 3.3333333333333335
+ 20 | NULL | 7.0
changes~ asked
+ 11 | 1 | 42
+ 11 | 1 | 42
+ 12 | 2 | 10
