# a standard table is an ordinary table: insert, update, delete, join
> CREATE STANDARD TABLE names (seg INT, name STRING)
> INSERT INTO names VALUES (1, 'bridge'), (2, 'tunnel'), (3, NULL)
= 3 rows inserted
feed names
4 | harbour
? SELECT * FROM names ORDER BY seg
1 | bridge
2 | tunnel
3 | NULL
4 | harbour

> UPDATE names SET name = upper(name) WHERE seg < 3
= 2 rows updated
> DELETE FROM names WHERE name IS NULL
= 1 row deleted
> INSERT INTO names (name, seg) SELECT concat(name, '!'), seg + 10 FROM names WHERE seg = 4
= 1 row inserted
? SELECT * FROM names ORDER BY seg
1 | BRIDGE
2 | TUNNEL
4 | harbour
14 | harbour!

> ALTER TABLE names ADD COLUMN since DATE
= standard table "names" altered
? SELECT * FROM names WHERE seg = 1
1 | BRIDGE | NULL

> INSERT INTO names VALUES (5, 'x', DATE '2026-01-01')
? SELECT count(*), count(since) FROM names
5 | 1

! SELECT * FROM names [ROWS 1]
"names" has no windows
line 1: SELECT * FROM names [ROWS 1]
                      ^^^^^
Detail: Only streaming tables have.

! INSERT INTO names VALUES ('five', 'x', NULL)
row 0 does not fit standard table "names": column "seg": 'five' is not an INT
Detail: 1 row is malformed; none was inserted.

! ALTER TABLE names SET LATENESS INTERVAL 5
standard table "names" can only get new columns
line 1: ALTER TABLE names SET LATENESS INTERVAL 5
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

!advance names 5
"names" is a standard table, not a streaming table

