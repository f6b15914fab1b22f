# values of every type go through windows, partitioned windows and results unchanged, NULL included
> CREATE STREAMING TABLE r (k STRING, b BOOLEAN, d DOUBLE, m DECIMAL(10,2), day DATE, at TIMESTAMP, bi BIGINT) TIMESTAMP BY at SHARD BY k
> CREATE CONTINUOUS QUERY q AS SELECT * FROM r [INTERVAL 1] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY p RANGE INTERVAL '1' HOUR AS SELECT k, b, d, m, day, bi, PREV(k) AS pk, PREV(d) AS pd, PREV(m) AS pm, PREV(day) AS pday
      FROM r [k ROWS 2] WHERE at = NOW() SAMPLE REALTIME
> CREATE CONTINUOUS QUERY again AS SELECT k, m FROM p [NOW] SAMPLE REALTIME
feed r
a | true | 1.5 | '10.25' | 2026-01-01 | 2026-01-01 00:00:01 | 9007199254740993
NULL | NULL | NULL | NULL | NULL | 2026-01-01 00:00:05 | NULL
a | false | -0.5 | '0.10' | 2026-01-02 | 2026-01-01 00:00:09 | -1
advance r 2026-01-01 00:00:10
tick
changes q
: k | b | d | m | day | bi
+ 2026-01-01 00:00:01 | a | true | 1.5 | 10.25 | 2026-01-01 | 9007199254740993
+ 2026-01-01 00:00:05 | NULL | NULL | NULL | NULL | NULL | NULL
+ 2026-01-01 00:00:09 | a | false | -0.5 | 0.10 | 2026-01-02 | -1

changes p
+ 2026-01-01 00:00:01 | a | true | 1.5 | 10.25 | 2026-01-01 | 9007199254740993 | NULL | NULL | NULL | NULL
+ 2026-01-01 00:00:05 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
+ 2026-01-01 00:00:09 | a | false | -0.5 | 0.10 | 2026-01-02 | -1 | a | 1.5 | 10.25 | 2026-01-01

changes again
+ 2026-01-01 00:00:01 | a | 10.25
+ 2026-01-01 00:00:05 | NULL | NULL
+ 2026-01-01 00:00:09 | a | 0.10

