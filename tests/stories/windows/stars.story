# over a window * never shows the time column, wherever it stands; without a window it always does
> CREATE STREAMING TABLE r (k INT, v INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE s (k INT, w INT, t BIGINT) TIMESTAMP BY t
> CREATE TABLE d (k INT, n STRING)
> INSERT INTO d VALUES (1, 'a')
feed r
1 | 10 | 1
2 | 20 | 2
1 | 10 | 3
feed s
1 | 7 | 3
3 | 8 | 4
?~ SELECT * FROM r
: k | v | t
1 | 10 | 1
2 | 20 | 2
1 | 10 | 3
? SELECT * FROM r [ROWS 2]
: k | v
1 | 10
2 | 20
? SELECT *, t FROM r [ROWS 1]
: k | v | t
1 | 10 | 3
? SELECT * EXCEPT (v) FROM r [ROWS 1]
: k
1
? SELECT a.* EXCEPT (k) FROM r [ROWS 1] a
: v
10
? SELECT * FROM r [ROWS 1] JOIN s [ROWS 2] USING (k)
: k | v | w
1 | 10 | 7
? SELECT * FROM r [k ROWS 1] FULL JOIN s [ROWS 2] USING (k) ORDER BY k
: k | v | w
1 | 10 | 7
2 | 20 | NULL
3 | NULL | 8
? SELECT r.*, w FROM r [ROWS 1] JOIN s USING (k)
: k | v | w
1 | 10 | 7
# the times of two windows are not compared
? SELECT * FROM r [ROWS 1] NATURAL JOIN s [k ROWS 1]
: k | v | w
1 | 10 | 7
? SELECT * FROM r [ROWS 1] JOIN (SELECT * FROM d) x USING (k)
: k | v | n
1 | 10 | a
? SELECT * FROM (SELECT * FROM r [ROWS 1]) x JOIN d USING (k)
: k | v | n
1 | 10 | a
? SELECT * FROM r [k ROWS 1] LEFT ANTI JOIN d USING (k)
: k | v
2 | 20
? SELECT COUNT(DISTINCT *) AS n, COUNT(*) AS m FROM r [ROWS 3]
: n | m
2 | 3
# an alias names the columns that * shows, or all
? SELECT * FROM r [ROWS 2] AS x(a, b)
: a | b
1 | 10
2 | 20
? SELECT b, c FROM r [ROWS 1] AS x(a, b, c)
: b | c
10 | 3
? SELECT a, w FROM r [ROWS 1] AS x(a, b) JOIN s [ROWS 2] AS y(a, w) USING (a)
: a | w
1 | 7
! SELECT * FROM r [ROWS 2] AS x(a)
table "r" has 2 columns, and its alias names 1
line 1: SELECT * FROM r [ROWS 2] AS x(a)
                                    ^^^

! SELECT * EXCEPT (x) FROM r [ROWS 1]
column "x" does not exist in this FROM
line 1: SELECT * EXCEPT (x) FROM r [ROWS 1]
               ^
Detail: There is: k, v.

? SELECT * FROM r [ROWS 1] NATURAL JOIN (SELECT 1 AS k UNION SELECT 2) x
: k | v
1 | 10

? SELECT * EXCEPT (v) FROM r [ROWS 1] JOIN range(2) x ON r.k = x.id
: k | id
1 | 1

? SELECT * FROM r [ROWS 1] NATURAL JOIN (SELECT id AS k FROM range(2)) x
: k | v
1 | 10

# a common table expression is seen where it is named, and brackets around a table change nothing
? WITH z AS (SELECT 1 AS k, 5 AS y) SELECT * FROM r [ROWS 1]
: k | v
1 | 10

? WITH z AS (SELECT 1 AS k, 5 AS y) SELECT * FROM r [ROWS 1] JOIN z USING (k)
: k | v | y
1 | 10 | 5

? SELECT * FROM (r [ROWS 1]) AS x
: k | v
1 | 10

? SELECT * FROM VALUES (1), (2) AS x(k) JOIN r [ROWS 1] USING (k)
: k | v
1 | 10

# so do continuous queries
> CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT * FROM r [NOW] LEFT SEMI JOIN d ON r.k = d.k SAMPLE EACH ROW
> CREATE CONTINUOUS QUERY u RANGE UNBOUNDED AS SELECT * FROM r [NOW] JOIN d USING (k) SAMPLE EACH ROW
feed r
1 | 11 | 5
2 | 12 | 5
advance r 6
tick
changes q
: k | v
+ 3 | 1 | 10
+ 5 | 1 | 11
changes u
: k | v | n
+ 3 | 1 | 10 | a
+ 5 | 1 | 11 | a
