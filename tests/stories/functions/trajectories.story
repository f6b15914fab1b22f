# an aggregate in Python sees the rows in time order, whatever order they came in
> CREATE STREAMING TABLE reports (vid INT, seg INT, pos INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '60' SECOND
> CREATE AGGREGATE trj(t BIGINT, xway INT, dir INT, seg INT, pos INT) RETURNS STRING AS PYTHON 'linear_road.functions:trajectory'
feed reports
1 | 10 | 100 | 0
2 | 20 | 200 | 10
1 | 12 | 300 | 40
1 | 11 | 200 | 20
? SELECT vid, trj(t, 0, 0, seg, pos) AS way FROM reports GROUP BY vid ORDER BY vid
1 | [[0, 0, 0, 10, 100], [20, 0, 0, 11, 200], [40, 0, 0, 12, 300]]
2 | [[10, 0, 0, 20, 200]]
! SELECT trj(t) FROM reports
function "trj" takes 5 arguments, not 1
line 1: SELECT trj(t) FROM reports
               ^^^
Detail: It is trj(t BIGINT, xway INT, dir INT, seg INT, pos INT).

> DROP FUNCTION trj
! DROP FUNCTION trj
function "trj" does not exist
