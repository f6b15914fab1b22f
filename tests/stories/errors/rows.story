# an offer that cannot fit the table is refused as a whole
> CREATE STREAMING TABLE r (v INT, name STRING, t BIGINT) TIMESTAMP BY t
!feed r
1 | a
----
row 0 has 2 values, table "r" has 3 columns
Detail: The columns are: v, name, t.

!feed r (v, name)
1 | a
----
rows for table "r" lack the column "t"
Detail: They have: v, name.

!feed r (v, t, weight)
1 | 2 | 3
----
column "weight" does not exist in table "r"
Detail: There is: name, t, v.

! INSERT INTO r VALUES (1, 'a')
2 values are offered for 3 columns of "r"
line 1: INSERT INTO r VALUES (1, 'a')
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: The columns are: v, name, t.

! INSERT INTO r (v, t) VALUES (1, 2, 3)
3 values are offered for 2 columns of "r"
line 1: INSERT INTO r (v, t) VALUES (1, 2, 3)
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: The columns are: v, t.

! INSERT INTO r_rejected VALUES (1)
"r_rejected" holds the rejected rows of "r" and cannot be changed
Hint: It can only be read.

!feed r_rejected
1
----
"r_rejected" holds the rejected rows of "r" and cannot be changed
Hint: It can only be read.

!feed nothing
1
----
streaming table "nothing" does not exist
Detail: There is: r.

!advance r noon
'noon' is not a time of table "r"
Detail: Its time column counts whole seconds.

!advance r 1.5
'1.5' is not a time of table "r"
Detail: Its time column counts whole seconds.

? SELECT count(*) FROM r
0
