# PIVOT groups by all columns there are: beside the time of a window, which * does not show, it is refused
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t
! SELECT * FROM (SELECT * FROM r [ROWS 9] WHERE t > 0) PIVOT (sum(v) FOR k IN (1, 2))
PIVOT and UNPIVOT are not supported beside a * in a query that names the time of a window
line 1: SELECT * FROM (SELECT * FROM r [ROWS 9] WHERE t > 0) PIVOT (sum(v) FOR k IN (1, 2))
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: The time is hidden: * does not show it.
Hint: Write the columns that you mean: FROM (SELECT k, v FROM r [ROWS 9] WHERE t > 0) PIVOT (...).
