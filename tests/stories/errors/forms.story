# what Spark refuses in a query is refused, with the place
> CREATE STREAMING TABLE reports (car INT, speed INT, at BIGINT) TIMESTAMP BY at
> CREATE STANDARD TABLE owners (car INT, owner STRING)
! SELECT car FROM reports WHERE car IN ()
expected an expression, but found ")"
line 1: SELECT car FROM reports WHERE car IN ()
                                              ^

! SELECT car FROM reports ORDER BY 0
ORDER BY position 0 is not in the SELECT list
line 1: SELECT car FROM reports ORDER BY 0
                                         ^
Detail: It has positions 1 to 1.

! SELECT car, speed FROM reports ORDER BY 3
ORDER BY position 3 is not in the SELECT list
line 1: SELECT car, speed FROM reports ORDER BY 3
                                                ^
Detail: It has positions 1 to 2.

! SELECT * FROM reports GROUP BY 0
GROUP BY position 0 is not in the SELECT list
line 1: SELECT * FROM reports GROUP BY 0
                                       ^
Detail: Positions begin with 1.

! SELECT 1E309
number is too large
line 1: SELECT 1E309
               ^^^^^
Detail: The largest DOUBLE is 1.7976931348623157E308.

! SELECT 128Y
number does not fit TINYINT
line 1: SELECT 128Y
               ^^^^

! SELECT car FROM reports WHERE car IS NULL = true
expected a clause or the end of the statement, but found "="
line 1: SELECT car FROM reports WHERE car IS NULL = true
                                                  ^

! SELECT car FROM reports WHERE car = NOT true
expected an expression, but found "NOT"
line 1: SELECT car FROM reports WHERE car = NOT true
                                            ^^^

! SELECT car FROM reports WHERE car BETWEEN 1 2
expected AND, but found number 2
line 1: SELECT car FROM reports WHERE car BETWEEN 1 2
                                                    ^

! SELECT p FROM owners AS o(p)
table "owners" has 2 columns, and its alias names 1
line 1: SELECT p FROM owners AS o(p)
                                ^^^

! SELECT car FROM reports JOIN owners USING (owner)
column "owner" does not exist on both sides of the join
line 1: SELECT car FROM reports JOIN owners USING (owner)
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

! CREATE CONTINUOUS QUERY q AS SELECT * FROM (SELECT car, speed FROM reports [UNBOUNDED]) PIVOT (sum(speed) FOR car IN (1, 2)) SAMPLE REALTIME
PIVOT and UNPIVOT are left to Spark, which alone knows their columns
line 1: CREATE CONTINUOUS QUERY q AS SELECT * FROM (SELECT car, speed FROM reports [UNBOUNDED]) PIVOT (sum(speed) FOR car IN (1, 2)) SAMPLE REALTIME
                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: Where Spark is not asked, write sum(CASE WHEN <key> = <value> THEN <column> END) for each column.

! SELECT car FROM reports LIMIT 1 UNION SELECT car FROM owners
expected parentheses around a query with ORDER BY or LIMIT, but found "UNION"
line 1: SELECT car FROM reports LIMIT 1 UNION SELECT car FROM owners
                                        ^^^^^

! SELECT car AS c FROM reports WHERE c = 1
column "c" does not exist in this FROM
line 1: SELECT car AS c FROM reports WHERE c = 1
                                           ^
Hint: WHERE comes before the outputs have names: write the expression, or put the query into a subquery.

! SELECT 1 + EXISTS (SELECT 1 FROM owners)
expected a value, but found "EXISTS"
line 1: SELECT 1 + EXISTS (SELECT 1 FROM owners)
                   ^^^^^^
