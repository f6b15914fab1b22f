# a definition that cannot be is refused with the reason
> CREATE STREAMING TABLE r (v INT, name STRING, x DOUBLE, t BIGINT) TIMESTAMP BY t
> CREATE INDEX by_v ON r (v)
! CREATE STREAMING TABLE s (v INT, t DOUBLE) TIMESTAMP BY t
time column "t" cannot be a DOUBLE
Hint: Use BIGINT (seconds), INT (seconds) or TIMESTAMP.

! CREATE STREAMING TABLE s (arrival INT)
table "s" names no time column, and "arrival" is taken
Hint: Add TIMESTAMP BY arrival, or rename the column.

! CREATE STREAMING TABLE s (_v INT)
column "_v" starts with an underscore
Hint: Such names belong to millpond.

! CREATE STREAMING TABLE _s (v INT)
"_s" starts with an underscore
Hint: Such names belong to millpond.

! CREATE STREAMING TABLE s (v INT) WITH (shard = 3)
table option "shard" does not exist
Detail: There is: shards, late.
Hint: Did you mean "shards"?

! CREATE STREAMING TABLE s (v INT) WITH (colour = 'red')
table option "colour" does not exist
Detail: There is: shards, late.

! CREATE STREAMING TABLE s (v INT) WITH (shards = 0)
table option shards cannot be "0"
Hint: Use 1 to 1024.

! CREATE STREAMING TABLE s (v INT) WITH (late = 'maybe')
table option late cannot be "maybe"
Hint: Use 'reject' or 'keep'.

! CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '1' MILLISECOND
interval 1 millisecond is finer than the time column
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

! CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '1500' MILLISECOND
interval 1500 milliseconds is finer than the time column
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

! CREATE STREAMING TABLE s (v INT NOT NULL, t BIGINT) TIMESTAMP BY t
column "v" cannot be NOT NULL
line 1: CREATE STREAMING TABLE s (v INT NOT NULL, t BIGINT) TIMESTAMP BY t
                                        ^^^^^^^^
Detail: Columns are nullable; only the column of TIMESTAMP BY always has a value.

! CREATE STREAMING TABLE r (v INT)
streaming table "r" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE INDEX ON r (t)
time column "t" is always indexed

! CREATE INDEX ON r (x)
column "x" of type DOUBLE cannot be indexed
Hint: Index integers, text or dates.

! CREATE INDEX ON r (v, name)
an index has one column
Detail: Time is always indexed too, and several indexes work together.
Hint: Make one index for each column.

! ALTER TABLE r SET (shard = 3)
table option "shard" does not exist
Detail: There is: shards, late.
Hint: Did you mean "shards"?

! ALTER TABLE r DROP COLUMN v
ALTER TABLE DROP is not supported
line 1: ALTER TABLE r DROP COLUMN v
                      ^^^^

! CREATE STREAMING VIEW w AS SELECT 1
expected SAMPLE at the end of a continuous query, but found the end of the statement
line 1: CREATE STREAMING VIEW w AS SELECT 1
                                           ^
Hint: Write SAMPLE INTERVAL '1' MINUTE, SAMPLE REALTIME or SAMPLE EACH ROW.

