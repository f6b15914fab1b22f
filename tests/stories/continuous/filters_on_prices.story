# conditions on doubles, decimals and truth values filter a stream as they filter a table; NaN is greater than every number
with block_rows=4
> CREATE STREAMING TABLE r (price DOUBLE, paid DECIMAL(10,2), ratio FLOAT, open BOOLEAN, a INT, t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY cheap AS SELECT a FROM r [NOW] WHERE price < 20 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY dear AS SELECT a FROM r [NOW] WHERE NOT price < 19.95 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY exact AS SELECT a FROM r [NOW] WHERE paid > 19.985 AND paid <= 20 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY half AS SELECT a FROM r [NOW] WHERE ratio = 0.5 OR ratio > 1e3 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY shut AS SELECT a FROM r [NOW] WHERE NOT open SAMPLE REALTIME
> CREATE TABLE d (k INT, w STRING)
> INSERT INTO d VALUES (1, 'one'), (2, 'two'), (4, 'four')
> CREATE CONTINUOUS QUERY joined AS SELECT r.a, d.w FROM r [NOW] JOIN d ON d.k = r.a WHERE r.price <= 19.95 AND r.paid < 20 SAMPLE REALTIME
> CREATE STREAMING VIEW v RANGE INTERVAL '1' HOUR AS SELECT a, price + 1 AS more, paid, ratio, open FROM r [NOW] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY seen AS SELECT a FROM v [NOW] WHERE more > 20.95 AND paid < 20.005 OR open AND ratio < 0.1 SAMPLE REALTIME
> CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS c FROM r [UNBOUNDED] WHERE price >= 20 SAMPLE INTERVAL '5' SECOND
> INSERT INTO r VALUES (19.95, 19.99, 0.5, TRUE, 1, 1), (double('NaN'), 19.98, double('NaN'), FALSE, 2, 2),
  (NULL, NULL, NULL, NULL, 3, 3), (double('-Infinity'), 20.00, -0.5, FALSE, 4, 4), (20.0, 20.01, 0.1, TRUE, 5, 5)
advance r 6
tick
changes cheap
+ 1 | 1
+ 4 | 4

changes dear
+ 1 | 1
+ 2 | 2
+ 5 | 5

changes exact
+ 1 | 1
+ 4 | 4

changes half
+ 1 | 1
+ 2 | 2

changes shut
+ 2 | 2
+ 4 | 4

changes joined
+ 1 | 1 | one

changes seen
+ 2 | 2

changes counted
+ 5 | 2

? SELECT a FROM r WHERE price > 19.95 ORDER BY a
2
5

? SELECT a FROM r WHERE price = double('NaN') OR price < -1e308 ORDER BY a
2
4

? SELECT a FROM r WHERE paid < 19.985 OR ratio >= 0.5 ORDER BY a
1
2

? SELECT a FROM r WHERE open AND price < 20 ORDER BY a
1

