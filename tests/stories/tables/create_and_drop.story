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
: name | kind | rows | watermark | range | lateness | rejected
reports | streaming table | 0 | NULL | 70 days | 5 seconds | 0
names | standard table | 0 | NULL | NULL | NULL | NULL

? SHOW STREAMING TABLES
reports | streaming table | 0 | NULL | 70 days | 5 seconds | 0

? SHOW STANDARD TABLES
names | standard table | 0 | NULL | NULL | NULL | NULL

? DESCRIBE names
vid | INT | ''
name | STRING | ''

! CREATE STREAMING TABLE names (x INT)
standard table "names" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE STANDARD TABLE reports (x INT)
streaming table "reports" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE STANDARD TABLE reports_rejected (x INT)
"reports_rejected" is the name of the rejected rows of "reports"
Hint: Take another name.

! DROP STANDARD TABLE reports
"reports" is a streaming table, not a standard table

! DROP STREAMING TABLE names
"names" is a standard table, not a streaming table

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
