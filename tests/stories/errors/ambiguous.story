# a column that two tables have must say whose it is
> CREATE STREAMING TABLE a (k INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE b (k INT, t BIGINT) TIMESTAMP BY t
! SELECT k FROM a JOIN b ON a.t = b.t
column "k" is ambiguous
line 1: SELECT k FROM a JOIN b ON a.t = b.t
               ^
Detail: It is in a, b.
Hint: Write <table>.k.

! SELECT a.k FROM a, b WHERE k = 1
column "k" is ambiguous
line 1: SELECT a.k FROM a, b WHERE k = 1
                                   ^
Detail: It is in a, b.
Hint: Write <table>.k.

! SELECT x.k FROM a AS x JOIN a AS y ON x.t = y.t ORDER BY t
column "t" is ambiguous
line 1: SELECT x.k FROM a AS x JOIN a AS y ON x.t = y.t ORDER BY t
                                                                 ^
Detail: It is in x, y.
Hint: Write <table>.t.

