# a malformed row is rejected with its reason, and no other row with it
skip one-row: the position of a row is its place in the offer
> CREATE STREAMING TABLE r (vid INT, name STRING, ok BOOLEAN, x DOUBLE, t BIGINT) TIMESTAMP BY t
feed r
1 | a | true | 1.5 | 1
two | b | false | 2 | 2
3 | c | maybe | 3 | 3
4 | d | true | wide | 4
5 | e | NULL | NULL | NULL
6 | f | true | 6.5 | six
7.5 | g | true | 1 | 7
99999999999 | h | true | 1 | 8
NULL | NULL | NULL | NULL | 9
? SELECT * FROM r ORDER BY t
1 | a | true | 1.5 | 1
NULL | NULL | NULL | NULL | 9

? SELECT position, reason FROM r_rejected ORDER BY position
1 | column "vid": 'two' is not an INT
2 | column "ok": 'maybe' is not a BOOLEAN
3 | column "x": 'wide' is not a DOUBLE
4 | time column "t" is NULL
5 | column "t": 'six' is not a BIGINT
6 | column "vid": 7.5 is not an INT
7 | column "vid": 99999999999 is not an INT

? SHOW REJECTED
r | 0 | 0 | 7

? SELECT source, row FROM r_rejected WHERE position = '1'
append | ["two", "b", false, 2, 2]

