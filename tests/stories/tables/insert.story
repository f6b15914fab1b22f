# INSERT takes VALUES and SELECT; late and malformed rows are told
> CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t
> INSERT INTO r VALUES (1, 10), (2, 20)
= 2 rows inserted
> INSERT INTO r VALUES (3, 15), (4, NULL), (5, 30)
= 1 row inserted, 2 rejected (1 late, 1 malformed): see r_rejected
? SELECT v FROM r ORDER BY t
1
2
5

?~ SELECT reason, row FROM r_rejected
time column "t" is NULL | {"v": 4, "t": null}
late: t = 15 is before 20 | {"v": 3, "t": 15}

