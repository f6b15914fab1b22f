# a query calls functions that are on a list, and reads tables of the pond
> CREATE STREAMING TABLE reports (car INT, speed INT, at BIGINT) TIMESTAMP BY at
! SELECT uper('x') FROM reports
function "uper" does not exist
line 1: SELECT uper('x') FROM reports
               ^^^^
Hint: Did you mean "upper"?

! SELECT car, reflect('java.lang.System', 'exit', 7) FROM reports
function "reflect" cannot be called in a query
line 1: SELECT car, reflect('java.lang.System', 'exit', 7) FROM reports
                    ^^^^^^^
Detail: It runs code of the Java machine.

! SELECT car FROM reports WHERE input_file_name() = 'x'
function "input_file_name" cannot be called in a query
line 1: SELECT car FROM reports WHERE input_file_name() = 'x'
                                      ^^^^^^^^^^^^^^^
Detail: It tells about the machine or the session, not about the data.

! SELECT * FROM rang(3)
table function "rang" does not exist
line 1: SELECT * FROM rang(3)
                      ^^^^
Hint: Did you mean "range"?

! SELECT * FROM abs(3)
function "abs" gives a value, not a table
line 1: SELECT * FROM abs(3)
                      ^^^

! SELECT range(3)
function "range" stands in FROM
line 1: SELECT range(3)
               ^^^^^

! SELECT system.builtin.abs(car) FROM reports
a function has a plain name
line 1: SELECT system.builtin.abs(car) FROM reports
                              ^^^
Hint: Write it without a catalog or schema.

! SELECT TRANSFORM('x') USING 'cat /etc/hostname'
TRANSFORM ... USING is not supported in a query
line 1: SELECT TRANSFORM('x') USING 'cat /etc/hostname'
                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

! SELECT ${env:HOME}
a variable is not supported in a query

! SELECT * FROM reports VERSION AS OF 3
VERSION or TIMESTAMP AS OF is not supported in a query
line 1: SELECT * FROM reports VERSION AS OF 3
                      ^^^^^^^

! SELECT COUNT() FROM reports
COUNT needs something to count
line 1: SELECT COUNT() FROM reports
               ^^^^^
Hint: Write COUNT(*).

! WITH __r0 AS (SELECT 1 AS a) SELECT a FROM __r0
name "__r0" is reserved
line 1: WITH __r0 AS (SELECT 1 AS a) SELECT a FROM __r0
             ^^^^^^^^^^^^^^^^^^^^^^
Hint: Take another.

! SELECT VALID(reports) FROM reports
VALID belongs to OVERLAPS
line 1: SELECT VALID(reports) FROM reports
               ^^^^^
Hint: Write VALID(<table>) OVERLAPS PERIOD(<from>, <to>).
