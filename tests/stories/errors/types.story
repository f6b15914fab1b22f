# a value of the wrong type is refused, with the reason, where it is offered
skip one-row: a standard table takes an offer whole or not at all
> CREATE STREAMING TABLE r (v INT, name STRING, at TIMESTAMP) TIMESTAMP BY at
> CREATE STANDARD TABLE n (v INT, day DATE)
!advance r noon
'noon' is not a time of table "r"
Hint: Write '2026-01-31 12:00:00'.

!feed n
1 | 2026-01-01
x | 2026-01-01
----
row 1 does not fit standard table "n": column "v": 'x' is not an INT
Detail: 1 row is malformed; none was inserted.

!feed n
1 | yesterday
----
row 0 does not fit standard table "n": column "day": 'yesterday' is not a DATE
Detail: 1 row is malformed; none was inserted.

! INSERT INTO n VALUES (1, DATE '2026-01-01'), (99999999999, NULL)
row 1 does not fit standard table "n": column "v": 99999999999 is not an INT
Detail: 1 row is malformed; none was inserted.

> INSERT INTO r VALUES (1, 'a', '2026-01-01 00:00:00'), (2, 'b', 'noon')
= 1 row inserted, 1 rejected (0 late, 1 malformed): see r_rejected
> INSERT INTO r VALUES (9999999999, 'c', TIMESTAMP '2026-01-01 00:00:01')
= 0 rows inserted, 1 rejected (0 late, 1 malformed): see r_rejected
> INSERT INTO r VALUES (4, 'd', NULL)
= 0 rows inserted, 1 rejected (0 late, 1 malformed): see r_rejected
? SELECT v FROM r
1

?~ SELECT reason FROM r_rejected
column "at": 'noon' is not a TIMESTAMP
column "v": 9999999999 is not an INT
time column "at" is NULL

? SELECT * FROM n

