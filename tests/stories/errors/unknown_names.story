# a name that does not exist is told with its place and the nearest name there is
> CREATE STREAMING TABLE reports (car INT, speed INT, at BIGINT) TIMESTAMP BY at
> CREATE STANDARD TABLE owners (car INT, owner STRING)
! SELECT sped FROM reports
column "sped" does not exist in table "reports"
line 1: SELECT sped FROM reports
               ^^^^
Hint: Did you mean "speed"?

! SELECT zzz FROM reports
column "zzz" does not exist in table "reports"
line 1: SELECT zzz FROM reports
               ^^^
Detail: There is: at, car, speed.

! SELECT r.sped FROM reports r
column "sped" does not exist in "r"
line 1: SELECT r.sped FROM reports r
               ^^^^^^
Hint: Did you mean "speed"?

! SELECT speed FROM reports WHERE
    carr = 3
column "carr" does not exist in table "reports"
line 2:     carr = 3
            ^^^^
Hint: Did you mean "car"?

! SELECT x.speed FROM reports r
table "x" does not exist in this FROM
line 1: SELECT x.speed FROM reports r
               ^^^^^^^
Detail: There is: r.

! SELECT car FROM report
table "report" does not exist
line 1: SELECT car FROM report
                        ^^^^^^
Hint: Did you mean "reports"?

! SELECT car FROM traffic
table "traffic" does not exist
line 1: SELECT car FROM traffic
                        ^^^^^^^
Detail: There is: owners, reports, reports_rejected.

! SELECT car FROM db.reports
schema "db" does not exist
line 1: SELECT car FROM db.reports
                        ^^^^^^^^^^
Hint: Tables of a pond have plain names; those of schema millpond describe the pond.

! SELECT * FROM reports [carr ROWS 1]
column "carr" does not exist in table "reports"
line 1: SELECT * FROM reports [carr ROWS 1]
                              ^^^^^^^^^^^^^
Hint: Did you mean "car"?

! SELECT speed FROM reports GROUP BY sped
column "sped" does not exist in table "reports"
line 1: SELECT speed FROM reports GROUP BY sped
                                           ^^^^
Hint: Did you mean "speed"?

! SELECT speed FROM reports ORDER BY sped
column "sped" does not exist in table "reports"
line 1: SELECT speed FROM reports ORDER BY sped
                                           ^^^^
Hint: Did you mean "speed"?

! SELECT r.speed FROM reports r JOIN owners o ON r.car = o.vid
column "vid" does not exist in "o"
line 1: SELECT r.speed FROM reports r JOIN owners o ON r.car = o.vid
                                                               ^^^^^
Detail: There is: car, owner.

! SELECT sped FROM reports JOIN owners ON reports.car = owners.car
column "sped" does not exist
line 1: SELECT sped FROM reports JOIN owners ON reports.car = owners.car
               ^^^^
Hint: Did you mean "speed"?

! DROP INDEX speeds
index "speeds" does not exist

! DROP TABLE report
table "report" does not exist
line 1: DROP TABLE report
        ^^^^^^^^^^^^^^^^^
Hint: Did you mean "reports"?

! DROP STREAMING TABLE report
streaming table "report" does not exist
Hint: Did you mean "reports"?

! DROP STANDARD TABLE owner
standard table "owner" does not exist
Hint: Did you mean "owners"?

! CREATE INDEX ON reports (sped)
column "sped" does not exist in table "reports"
Hint: Did you mean "speed"?

! CREATE INDEX ON report (speed)
streaming table "report" does not exist
Hint: Did you mean "reports"?

! DESCRIBE report
table "report" does not exist
line 1: DESCRIBE report
        ^^^^^^^^^^^^^^^
Hint: Did you mean "reports"?

! INSERT INTO report VALUES (1)
streaming table "report" does not exist
Hint: Did you mean "reports"?

! INSERT INTO reports (car, sped) VALUES (1, 2)
column "sped" does not exist in table "reports"
Hint: Did you mean "speed"?

!feed reports (car, sped, at)
1 | 2 | 3
----
column "sped" does not exist in table "reports"
Hint: Did you mean "speed"?

!advance report 5
streaming table "report" does not exist
Hint: Did you mean "reports"?

