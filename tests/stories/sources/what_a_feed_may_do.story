# a feed chooses, computes and filters row by row; more is refused
> CREATE SOURCE cars (vid INT, t BIGINT) FROM FILES '{folder}' FORMAT CSV
> CREATE STREAMING TABLE r (vid INT, t BIGINT) TIMESTAMP BY t
> CREATE STANDARD TABLE n (vid INT)
! INSERT INTO r SELECT vid, max(t) FROM cars GROUP BY vid
a feed takes each row by itself
line 1: INSERT INTO r SELECT vid, max(t) FROM cars GROUP BY vid
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: Its SELECT may choose, compute and filter, from one source.
Hint: Aggregate and join in queries over the streaming table.

! INSERT INTO r SELECT cars.vid, t FROM cars JOIN n ON n.vid = cars.vid
a feed takes each row by itself
line 1: INSERT INTO r SELECT cars.vid, t FROM cars JOIN n ON n.vid = cars.vid
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: Its SELECT may choose, compute and filter, from one source.
Hint: Aggregate and join in queries over the streaming table.

! INSERT INTO r SELECT vid FROM cars
1 value is offered for 2 columns of "r"
line 1: INSERT INTO r SELECT vid FROM cars
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: The columns are: vid, t.

! INSERT INTO n SELECT vid FROM cars
a source can only flow into a streaming table
line 1: INSERT INTO n SELECT vid FROM cars
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

! INSERT INTO r SELECT vid, tt FROM cars
column "tt" does not exist in table "cars"
line 1: INSERT INTO r SELECT vid, tt FROM cars
                                  ^^
Hint: Did you mean "t"?

! CREATE SOURCE cars (x INT) FROM FILES '{folder}'
source "cars" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE SOURCE more (x INT) FROM FILES '{folder}' WITH (colour = 'red')
option "colour" does not exist for source "more" (files, csv)
Detail: There is: complete, delimiter, header, null, pattern.

! DROP SOURCE car
source "car" does not exist
Hint: Did you mean "cars"?

! DROP FEED none
feed "none" does not exist

> CREATE SOURCE IF NOT EXISTS cars (x INT) FROM FILES '{folder}'
= "cars" exists already
