# what cannot be kept going in bounded memory, or means nothing, is refused when it is said
> CREATE STREAMING TABLE r (vid INT, v INT, t BIGINT) TIMESTAMP BY t RANGE INTERVAL '1' HOUR
> CREATE STREAMING TABLE by_clock (vid INT, at TIMESTAMP) TIMESTAMP BY at
> CREATE STANDARD TABLE names (vid INT, name STRING)
> CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME
! CREATE CONTINUOUS QUERY x AS SELECT v FROM r SAMPLE REALTIME
"r" has no window
Detail: A continuous query sees a streaming table through a window.
Hint: Write one behind its name: r [INTERVAL '1' MINUTE], or [NOW], or [ROWS 100].

! CREATE CONTINUOUS QUERY x AS SELECT a.v FROM r [NOW] a, r b SAMPLE REALTIME
"b" has no window
Detail: A continuous query sees a streaming table through a window.
Hint: Write one behind its name: r [INTERVAL '1' MINUTE], or [NOW], or [ROWS 100].

! CREATE CONTINUOUS QUERY x AS SELECT v FROM r [UNBOUNDED] SAMPLE REALTIME
the window of "r" grows without bound
Detail: All rows it will ever hold would have to be kept in memory: it has neither GROUP BY nor aggregates.
Hint: Use [INTERVAL ...], [LANDMARK DAY], [ROWS ...] or [NOW]; or [UNBOUNDED] with COUNT, SUM, AVG, MIN and MAX of numbers.

! CREATE CONTINUOUS QUERY x AS SELECT v FROM r [SINCE 5] SAMPLE REALTIME
the window of "r" grows without bound
Detail: All rows it will ever hold would have to be kept in memory: it is [SINCE 5], not [UNBOUNDED].
Hint: Use [INTERVAL ...], [LANDMARK DAY], [ROWS ...] or [NOW]; or [UNBOUNDED] with COUNT, SUM, AVG, MIN and MAX of numbers.

! CREATE CONTINUOUS QUERY x AS SELECT v FROM r [INTERVAL '61' MINUTE] SAMPLE REALTIME
the window of "r" is longer than "r" keeps its rows
Detail: They are kept for 1 hour, and the window has 61 minutes.
Hint: Keep them longer: ALTER STREAMING TABLE r SET RANGE INTERVAL ...; or make the window shorter.

! CREATE CONTINUOUS QUERY x AS SELECT name FROM names SAMPLE INTERVAL 5
a continuous query reads at least one streaming table

! CREATE CONTINUOUS QUERY x AS SELECT 1 AS one SAMPLE INTERVAL 5
a continuous query reads at least one streaming table

! CREATE CONTINUOUS QUERY x AS SELECT r.v FROM r [NOW] JOIN by_clock [NOW] ON r.vid = by_clock.vid SAMPLE INTERVAL 5
the times of these streams cannot be compared
Detail: One is in whole seconds, another a TIMESTAMP.

! CREATE CONTINUOUS QUERY x AS SELECT v FROM r [NOW] SAMPLE INTERVAL '500' MILLISECOND
interval 500 milliseconds is finer than the time column
Detail: An integer time column counts whole seconds.
Hint: Use whole seconds, or a TIMESTAMP time column.

! CREATE CONTINUOUS QUERY x AS SELECT reason FROM r_rejected SAMPLE REALTIME
rejected rows cannot be read continuously

! CREATE CONTINUOUS QUERY q AS SELECT v FROM r [NOW] SAMPLE REALTIME
continuous query "q" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE STREAMING VIEW R AS SELECT v FROM r [NOW] SAMPLE REALTIME
streaming table "r" exists already
Hint: Drop it first, or use IF NOT EXISTS.

! CREATE STREAMING TABLE q (v INT)
continuous query "q" exists already
Hint: Drop it first, or use IF NOT EXISTS.

> CREATE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT v FROM r [NOW] SAMPLE REALTIME
= "q" exists already

! CREATE CONTINUOUS QUERY x AS SELECT v AS instant FROM r [NOW] SAMPLE REALTIME
"instant" cannot be a column of a result
line 1: CREATE CONTINUOUS QUERY x AS SELECT v AS instant FROM r [NOW] SAMPLE REALTIME
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Detail: "instant" is the time of every result.
Hint: Give it a name: SELECT ... AS <name>, not instant.

! CREATE CONTINUOUS QUERY x AS SELECT v, v FROM r [NOW] SAMPLE REALTIME
"v" is named twice
line 1: CREATE CONTINUOUS QUERY x AS SELECT v, v FROM r [NOW] SAMPLE REALTIME
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
Hint: Give it a name: SELECT ... AS <name>, not v.

! CREATE CONTINUOUS QUERY x AS SELECT sped FROM r [NOW] SAMPLE REALTIME
column "sped" does not exist in table "r"
line 1: CREATE CONTINUOUS QUERY x AS SELECT sped FROM r [NOW] SAMPLE REALTIME
                                            ^^^^
Detail: There is: t, v, vid.

! CREATE CONTINUOUS QUERY x AS SELECT v FROM roads [NOW] SAMPLE REALTIME
table "roads" does not exist
line 1: CREATE CONTINUOUS QUERY x AS SELECT v FROM roads [NOW] SAMPLE REALTIME
                                                   ^^^^^
Detail: There is: by_clock, by_clock_rejected, names, q, r, r_rejected.

! CREATE CONTINUOUS QUERY x AS SELECT v FROM names [NOW] SAMPLE REALTIME
"names" has no windows
line 1: CREATE CONTINUOUS QUERY x AS SELECT v FROM names [NOW] SAMPLE REALTIME
                                                   ^^^^^
Detail: Only streaming tables have.

! CREATE CONTINUOUS QUERY x FROM 'soon' AS SELECT v FROM r [NOW] SAMPLE REALTIME
'soon' is not a time of table "r"
Detail: Its time column counts whole seconds.

! DROP STREAMING VIEW q
"q" is a continuous query, not a streaming view
Hint: Write CONTINUOUS QUERY in its place.

! DROP CONTINUOUS QUERY r
"r" is a streaming table, not a continuous query

! DROP CONTINUOUS QUERY nothing
continuous query "nothing" does not exist
Detail: There is: q.

> DROP CONTINUOUS QUERY IF EXISTS nothing
= there is no continuous query "nothing"

! INSERT INTO q VALUES (1, 2)
"q" is a continuous query, not a streaming table

!feed q
1 | 2
----
"q" is a continuous query, not a streaming table

! UPDATE q SET v = 1
"q" is a continuous query, not a streaming table

! DELETE FROM q
"q" is a continuous query, not a streaming table

! ALTER TABLE q ADD COLUMN w INT
"q" is a continuous query, not a streaming table

! CREATE INDEX ON q (v)
"q" is a continuous query, not a streaming table

