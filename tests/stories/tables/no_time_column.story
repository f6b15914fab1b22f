# a table that names no time column gets the time of arrival
> CREATE STREAMING TABLE r (v INT)
= streaming table "r" created
? DESCRIBE r
: column | type | note
v | INT | ''
arrival | TIMESTAMP | time, implicit

feed r
1
> INSERT INTO r VALUES (2)
? SELECT v, arrival FROM r ORDER BY arrival
1 | 2027-01-01 00:00:02
2 | 2027-01-01 00:00:03

? SELECT * FROM r [ROWS 1]
2

? SELECT v FROM r [INTERVAL '1' SECOND]
2
1
