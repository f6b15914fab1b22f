# a text compared with a number is compared as a number, indexed or not
> CREATE STREAMING TABLE r (name STRING, v INT, t BIGINT) TIMESTAMP BY t
> CREATE INDEX ON r (name)
feed r
'42' | 1 | 1
'042' | 2 | 2
'7' | 3 | 3
? SELECT v FROM r WHERE CAST(name AS INT) = 42 ORDER BY v
1
2

? SELECT v FROM r WHERE name = '42'
1

? SELECT v FROM r WHERE name > '5'
3
