# EXPLAIN tells the engine, the files and blocks, the rows, and what was skipped
skip cold, cold-restart: then everything is in files
skip no-index: the plan names the index
skip one-row, one-shard, four-shards, restart, reader: files and blocks are counted
> CREATE STREAMING TABLE r (vid INT, spd INT, t BIGINT) TIMESTAMP BY t WITH (shards = 1)
> CREATE INDEX ON r (vid)
? EXPLAIN SELECT * FROM r WHERE vid = 1
engine: duckdb (small enough)
r: 0 of 0 files (0 rows, 0 bytes), 0 blocks of the tail (0 rows), of 0 rows in all
'  columns: vid, spd, t'
total: 0 rows, 0 bytes of files to read

feed r
1 | 10 | 1
2 | 20 | 2
? EXPLAIN SELECT vid FROM r
engine: duckdb (small enough)
r: 0 of 0 files (0 rows, 0 bytes), 1 block of the tail (2 rows), of 2 rows in all
'  columns: vid'
total: 2 rows, 0 bytes of files to read

> DELETE FROM r WHERE vid = 0
feed r
3 | 30 | 90000
> DELETE FROM r WHERE vid = 0
feed r
1 | 40 | 100000
? EXPLAIN SELECT spd FROM r WHERE t >= 90000
engine: duckdb (small enough)
r: 1 of 2 files (1 row, some bytes), 1 block of the tail (1 row), of 4 rows in all
'  skipped by: time'
'  columns: spd, t'
'  file c1/....parquet: row groups 1 of 1, 1 row, some bytes'
total: 2 rows, some bytes of files to read

? EXPLAIN SELECT spd FROM r WHERE vid = 3 AND t < 200000
engine: duckdb (small enough)
r: 1 of 2 files (1 row, some bytes), 1 block of the tail (1 row), of 4 rows in all
'  skipped by: bounds, index on vid'
'  columns: vid, spd, t'
'  file c1/....parquet: row groups 1 of 1, 1 row, some bytes'
total: 2 rows, some bytes of files to read

? EXPLAIN SELECT spd FROM r WHERE spd > 35
engine: duckdb (small enough)
r: 0 of 2 files (0 rows, 0 bytes), 1 block of the tail (1 row), of 4 rows in all
'  skipped by: bounds'
'  columns: spd'
total: 1 row, 0 bytes of files to read

? EXPLAIN SELECT a.vid FROM r [ROWS 1] AS a
engine: duckdb (small enough)
r as a: 0 of 2 files (0 rows, 0 bytes), 1 block of the tail (1 row), of 4 rows in all
'  skipped by: time'
'  columns: vid'
total: 1 row, 0 bytes of files to read

! EXPLAIN DROP TABLE r
only a SELECT can be explained
line 1: EXPLAIN DROP TABLE r
                ^^^^^^^^^^^^

