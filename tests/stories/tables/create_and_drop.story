# tables are made, listed, described and dropped; IF [NOT] EXISTS makes it harmless
> CREATE STREAMING TABLE Reports (VID INT, Spd INT, t BIGINT) TIMESTAMP BY T SHARD BY vid RANGE INTERVAL '70' DAY
    LATENESS INTERVAL '5' SECOND WITH (shards = 3)
= streaming table "reports" created
> CREATE INDEX by_vid ON reports (vid)
> CREATE STREAMING TABLE IF NOT EXISTS reports (x INT)
= "reports" exists already
> CREATE STANDARD TABLE names (vid INT, name STRING)
= standard table "names" created
? SHOW TABLES
: name | kind | rows | now | range | lateness | rejected

? SHOW STREAMING TABLES

? SHOW STANDARD TABLES

? DESCRIBE names

! CREATE STREAMING TABLE names (x INT)

! CREATE STANDARD TABLE reports (x INT)

! CREATE STANDARD TABLE reports_rejected (x INT)

! DROP STANDARD TABLE reports

! DROP STREAMING TABLE names

> DROP TABLE reports
= streaming table "reports" dropped
> DROP TABLE IF EXISTS reports
= there is no table "reports"
> DROP STANDARD TABLE names
= standard table "names" dropped
? SHOW TABLES

> CREATE STREAMING TABLE reports (vid INT, t BIGINT) TIMESTAMP BY t
? SELECT * FROM reports

feed reports
1 | 1
? SELECT * FROM reports
1 | 1
