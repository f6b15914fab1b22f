# what can be written in a one-time query can be written in a continuous one: USING, named columns, a table twice, TABLE, range
> CREATE STREAMING TABLE reports (car INT, speed INT, day DATE, at BIGINT) TIMESTAMP BY at
> CREATE STANDARD TABLE owners (car INT, owner STRING)
> INSERT INTO owners VALUES (1, 'Ada'), (2, 'Bo')
> CREATE CONTINUOUS QUERY joined AS SELECT car, owner, speed FROM reports [ROWS 2] JOIN owners USING (car) WHERE car = 1 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY natural_ AS SELECT car, owner FROM reports [ROWS 2] NATURAL JOIN owners SAMPLE REALTIME
> CREATE CONTINUOUS QUERY renamed AS SELECT c, s FROM reports [ROWS 1] AS r(c, s, d, t) SAMPLE REALTIME
> CREATE CONTINUOUS QUERY twice AS SELECT count(*) AS pairs FROM reports [ROWS 2], reports [ROWS 3] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY whole AS TABLE reports [ROWS 1] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY numbered AS SELECT id, speed FROM range(1, 3) JOIN reports [ROWS 2] ON id = car SAMPLE REALTIME
> CREATE CONTINUOUS QUERY without AS SELECT car FROM reports [ROWS 3] EXCEPT SELECT car FROM owners ORDER BY car SAMPLE REALTIME
> CREATE CONTINUOUS QUERY days AS SELECT date_sub(day, '1') AS before, -128Y AS least, 2 | car & 1 AS bits FROM reports [ROWS 1] SAMPLE REALTIME
feed reports
1 | 50 | 2026-01-01 | 1
3 | 60 | 2026-01-02 | 2
2 | 70 | 2026-01-03 | 3
4 | 80 | 2026-01-04 | 4
tick
changes joined
+ 1 | 1 | Ada | 50
+ 2 | 1 | Ada | 50
changes natural_
+ 1 | 1 | Ada
+ 2 | 1 | Ada
+ 3 | 2 | Bo
changes renamed
+ 1 | 1 | 50
+ 2 | 3 | 60
+ 3 | 2 | 70
changes twice
+ 1 | 1
+ 2 | 4
+ 3 | 6
changes whole
+ 1 | 1 | 50 | 2026-01-01
+ 2 | 3 | 60 | 2026-01-02
+ 3 | 2 | 70 | 2026-01-03
changes numbered
+ 1 | 1 | 50
+ 2 | 1 | 50
+ 3 | 2 | 70
changes without
+ 2 | 3
+ 3 | 3
changes days
+ 1 | 2025-12-31 | -128 | 3
+ 2 | 2026-01-01 | -128 | 3
+ 3 | 2026-01-02 | -128 | 2
