# rows of a folder of files flow into a table; lines that are no rows are rejected with their place
skip restart, cold-restart: feeds go on with start(), which starts Spark
> CREATE SOURCE cars (vid INT, spd DOUBLE, t BIGINT) FROM FILES '{folder}' FORMAT CSV
= source "cars" created
> CREATE STREAMING TABLE r (vid INT, kmh INT, t BIGINT) TIMESTAMP BY t
> INSERT INTO r (t, vid, kmh) SELECT t, vid, CAST(spd * 2 AS INT) FROM cars WHERE vid > 0
= feed "r_from_cars" created: rows of "cars" flow into "r"
file a.csv
1,10,1
-1,10,1
2,20,2
wait r 2
file b.csv
3,30,3
x,30,3
3,30,2
wait r 5
? SELECT * FROM r ORDER BY t
1 | 20 | 1
2 | 40 | 2
3 | 60 | 3

? SELECT count(*) FROM r_rejected
2

? SHOW SOURCES
: name | kind | location | format
cars | files | {folder} | csv

! INSERT INTO r (t, vid, kmh) SELECT t, vid, CAST(spd * 2 AS INT) FROM cars WHERE vid > 0
feed "r_from_cars" exists already
Hint: Drop it first: DROP FEED r_from_cars.

! DROP TABLE r
feed "r_from_cars" uses "r"
Hint: Drop it first: DROP FEED r_from_cars.

! DROP SOURCE cars
feed "r_from_cars" uses "cars"
Hint: Drop it first: DROP FEED r_from_cars.

! ALTER TABLE r RENAME TO s
feed "r_from_cars" fills "r"
Hint: Drop the feed first.

! SELECT * FROM cars
source "cars" cannot be queried
line 1: SELECT * FROM cars
                      ^^^^
Hint: Let its rows flow into a streaming table: INSERT INTO <table> SELECT ... FROM cars.

! INSERT INTO cars VALUES (1, 2, 3)
source "cars" cannot be inserted into
Hint: Rows only come out of a source.

> DROP FEED r_from_cars
= feed "r_from_cars" dropped
> DROP FEED IF EXISTS r_from_cars
= there is no feed "r_from_cars"
> DROP SOURCE cars
= source "cars" dropped
> DROP TABLE r
= streaming table "r" dropped
