# a statement that cannot be read is shown with the place underlined
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
! SELEC v FROM r
expected a statement, but found "SELEC"
line 1: SELEC v FROM r
        ^^^^^
Hint: Did you mean "SELECT"?

! SELECT v FROM
expected a table name, but found the end of the statement
line 1: SELECT v FROM
                     ^

! SELECT FROM r
SELECT has no columns
line 1: SELECT FROM r
                    ^

! SELECT v FROM r WHERE
expected an expression, but found the end of the statement
line 1: SELECT v FROM r WHERE
                             ^

! SELECT v
    FROM r
    WHERE v = = 3
expected an expression, but found "="
line 3:     WHERE v = = 3
                      ^

! SELECT 'open FROM r
text is never closed
line 1: SELECT 'open FROM r
               ^^^^^^^^^^^^

! SELECT v FROM r [ROWS]
expected a number of rows, but found "]"
line 1: SELECT v FROM r [ROWS]
                             ^

! SELECT v FROM r [ROWS 0]
window of 0 rows has no rows
line 1: SELECT v FROM r [ROWS 0]
                              ^

! SELECT v FROM r [INTERVAL '1' MONTH]
interval unit "month" cannot be used for a window or period
line 1: SELECT v FROM r [INTERVAL '1' MONTH]
                         ^^^^^^^^^^^^^^^^^^
Detail: Months and years have no fixed length.
Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK.

! SELECT v FROM r [INTERVAL '10' MILLISECOND]
interval 10 milliseconds is finer than the time column
line 1: SELECT v FROM r [INTERVAL '10' MILLISECOND]
                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

! SELECT v FROM r [SINCE 'noon']
'noon' is not a time of table "r"
Detail: Its time column counts whole seconds.

! CREATE STREAMING TABLE s (v INTT)
type "INTT" does not exist
line 1: CREATE STREAMING TABLE s (v INTT)
                                    ^^^^
Hint: Did you mean "INT"?

! CREATE STREAMING TABLE s (v INT, V INT)
column "V" is named twice
line 1: CREATE STREAMING TABLE s (v INT, V INT)
                                         ^

! CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY tt
column "tt" does not exist in table "s"
line 1: CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY tt
                                                                ^^
Hint: Did you mean "t"?

! CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t SHARD BY w
column "w" does not exist in table "s"
line 1: CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t SHARD BY w
                                                                           ^
Detail: There is: t, v.

! CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '1' YEAR
interval unit "year" cannot be used for a window or period
line 1: CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '1' YEAR
                                                                        ^^^^^^^^^^^^^^^^^
Detail: Months and years have no fixed length.
Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK.

! CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t LATENESS 5
expected INTERVAL, but found number 5
line 1: CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t LATENESS 5
                                                                           ^

! CREATE TABEL s (v INT)
expected STREAMING, CONTINUOUS, STANDING, STANDARD, TABLE, INDEX, SOURCE, FUNCTION, AGGREGATE or REDUCTION after CREATE, but found "TABEL"
line 1: CREATE TABEL s (v INT)
               ^^^^^
Hint: Did you mean "TABLE"?

! MERGE INTO r USING s
MERGE is not supported
line 1: MERGE INTO r USING s
        ^^^^^

! SELECT v FROM r SAMPLE INTERVAL '1' SECOND
SAMPLE belongs to a continuous query
line 1: SELECT v FROM r SAMPLE INTERVAL '1' SECOND
                        ^^^^^^
Hint: Give it a name: CREATE CONTINUOUS QUERY <name> AS SELECT ...

