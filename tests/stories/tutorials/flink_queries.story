# the pages and recipes of Flink on queries: top n, deduplication, OVER, joins of all kinds, sets, texts and arrays
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE sales (product INT, category STRING, amount INT, tags STRING, t TIMESTAMP) TIMESTAMP BY t
# SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY sales DESC) AS row_num FROM ShopSales) WHERE row_num <= 2
> CREATE CONTINUOUS QUERY top2 AS
   SELECT category, product, amount FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY amount DESC) AS place FROM sales [INTERVAL '1' HOUR])
   WHERE place <= 2 SAMPLE INTERVAL '10' MINUTE
# keep the first row of each key: ROW_NUMBER() OVER (PARTITION BY product ORDER BY t ASC) = 1
> CREATE CONTINUOUS QUERY first_rows AS
   SELECT ISTREAM product, category, t FROM (SELECT *, t, ROW_NUMBER() OVER (PARTITION BY product ORDER BY t ASC) AS place FROM sales [INTERVAL '1' HOUR])
   WHERE place = 1 SAMPLE REALTIME
# QUALIFY says the same in one SELECT
> CREATE CONTINUOUS QUERY last_rows AS
   SELECT product, amount FROM sales [INTERVAL '1' HOUR] QUALIFY ROW_NUMBER() OVER (PARTITION BY product ORDER BY t DESC) = 1 SAMPLE INTERVAL '10' MINUTE
# SUM(amount) OVER (PARTITION BY category ORDER BY t RANGE BETWEEN INTERVAL '30' MINUTES PRECEDING AND CURRENT ROW)
> CREATE CONTINUOUS QUERY moving_sum AS
   SELECT ISTREAM product, category, SUM(amount) OVER (PARTITION BY category ORDER BY t RANGE BETWEEN INTERVAL '30' MINUTES PRECEDING AND CURRENT ROW) AS moving
   FROM sales [INTERVAL '1' HOUR] SAMPLE REALTIME
# SELECT DISTINCT category
> CREATE CONTINUOUS QUERY categories AS SELECT ISTREAM DISTINCT category FROM sales [INTERVAL '1' HOUR] SAMPLE REALTIME
# GROUP BY with HAVING; GROUPING SETS, ROLLUP, CUBE
> CREATE CONTINUOUS QUERY large AS SELECT category, SUM(amount) AS total FROM sales [INTERVAL '1' HOUR] GROUP BY category HAVING SUM(amount) > 45 SAMPLE INTERVAL '10' MINUTE
> CREATE CONTINUOUS QUERY rolled_up AS SELECT category, product, SUM(amount) AS total FROM sales [INTERVAL '1' HOUR] GROUP BY ROLLUP (category, product) SAMPLE INTERVAL '10' MINUTE
# LISTAGG
> CREATE CONTINUOUS QUERY listed AS SELECT category, listagg(CAST(product AS STRING), ',') WITHIN GROUP (ORDER BY product) AS products FROM sales [INTERVAL '1' HOUR] GROUP BY category SAMPLE INTERVAL '10' MINUTE
# CROSS JOIN UNNEST(SPLIT(tags))
> CREATE CONTINUOUS QUERY tagged AS SELECT product, tag FROM sales [NOW] LATERAL VIEW explode(split(tags, ',')) x AS tag SAMPLE REALTIME
# COUNT(*) FILTER (WHERE ...)
> CREATE CONTINUOUS QUERY counted AS SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE amount > 25) AS big, SUM(CASE WHEN category = 'tea' THEN amount ELSE 0 END) AS tea FROM sales [INTERVAL '1' HOUR] SAMPLE INTERVAL '10' MINUTE
feed sales
1 | tea | 10 | hot,green | 2026-01-01 00:01:00
2 | tea | 30 | hot | 2026-01-01 00:02:00
3 | ale | 40 | cold | 2026-01-01 00:03:00
1 | tea | 20 | hot,black | 2026-01-01 00:08:00
advance sales 2026-01-01 00:10:01
tick
changes~ top2
+ 2026-01-01 00:10:00 | ale | 3 | 40
+ 2026-01-01 00:10:00 | tea | 2 | 30
+ 2026-01-01 00:10:00 | tea | 1 | 20

changes first_rows
+ 2026-01-01 00:01:00 | 1 | tea | 2026-01-01 00:01:00
+ 2026-01-01 00:02:00 | 2 | tea | 2026-01-01 00:02:00
+ 2026-01-01 00:03:00 | 3 | ale | 2026-01-01 00:03:00

changes~ last_rows
+ 2026-01-01 00:10:00 | 3 | 40
+ 2026-01-01 00:10:00 | 1 | 20
+ 2026-01-01 00:10:00 | 2 | 30

changes moving_sum
+ 2026-01-01 00:01:00 | 1 | tea | 10
+ 2026-01-01 00:02:00 | 2 | tea | 40
+ 2026-01-01 00:03:00 | 3 | ale | 40
+ 2026-01-01 00:08:00 | 1 | tea | 60

changes categories
+ 2026-01-01 00:01:00 | tea
+ 2026-01-01 00:03:00 | ale

changes large
+ 2026-01-01 00:10:00 | tea | 60

changes~ rolled_up
+ 2026-01-01 00:10:00 | NULL | NULL | 100
+ 2026-01-01 00:10:00 | tea | NULL | 60
+ 2026-01-01 00:10:00 | ale | NULL | 40
+ 2026-01-01 00:10:00 | tea | 2 | 30
+ 2026-01-01 00:10:00 | ale | 3 | 40
+ 2026-01-01 00:10:00 | tea | 1 | 30

changes~ listed
+ 2026-01-01 00:10:00 | tea | 1,1,2
+ 2026-01-01 00:10:00 | ale | 3

changes~ tagged
+ 2026-01-01 00:01:00 | 1 | green
+ 2026-01-01 00:01:00 | 1 | hot
+ 2026-01-01 00:02:00 | 2 | hot
+ 2026-01-01 00:03:00 | 3 | cold
+ 2026-01-01 00:08:00 | 1 | black
+ 2026-01-01 00:08:00 | 1 | hot

changes counted
+ 2026-01-01 00:10:00 | 4 | 2 | 60

> CREATE STREAMING TABLE orders (id INT, currency STRING, price DOUBLE, t TIMESTAMP) TIMESTAMP BY t
> CREATE STREAMING TABLE shipments (order_id INT, t TIMESTAMP) TIMESTAMP BY t
> CREATE STREAMING TABLE rates (currency STRING, rate DOUBLE, t TIMESTAMP) TIMESTAMP BY t
> CREATE TABLE customers (id INT, name STRING)
> INSERT INTO customers VALUES (1, 'Ann'), (2, 'Bob'), (9, 'Eve')
# interval join: WHERE o.id = s.order_id AND o.order_time BETWEEN s.ship_time - INTERVAL '4' HOUR AND s.ship_time
> CREATE CONTINUOUS QUERY interval_join AS
   SELECT ISTREAM o.id, o.t AS ordered, s.t AS shipped FROM orders [INTERVAL '1' DAY] o JOIN shipments [INTERVAL '1' DAY] s
   ON o.id = s.order_id AND o.t BETWEEN s.t - INTERVAL '4' HOUR AND s.t SAMPLE REALTIME
# temporal join: JOIN rates FOR SYSTEM_TIME AS OF o.order_time ON o.currency = r.currency
> CREATE CONTINUOUS QUERY converted AS
   SELECT o.id, o.price * r.rate AS euros FROM orders [NOW] o JOIN rates [currency ROWS 1] r ON o.currency = r.currency SAMPLE REALTIME
# lookup join with a table of another system
> CREATE CONTINUOUS QUERY named AS SELECT o.id, c.name FROM orders [NOW] o LEFT JOIN customers c ON o.id = c.id SAMPLE REALTIME
# outer joins, IN, EXISTS, sets
> CREATE CONTINUOUS QUERY outer_join AS SELECT o.id, s.order_id FROM orders [INTERVAL '1' DAY] o FULL OUTER JOIN shipments [INTERVAL '1' DAY] s ON o.id = s.order_id SAMPLE INTERVAL '12' HOUR
> CREATE CONTINUOUS QUERY shipped AS SELECT id FROM orders [INTERVAL '1' DAY] WHERE id IN (SELECT order_id FROM shipments [INTERVAL '1' DAY]) SAMPLE INTERVAL '12' HOUR
> CREATE CONTINUOUS QUERY waiting AS SELECT id FROM orders [INTERVAL '1' DAY] o WHERE NOT EXISTS (SELECT 1 FROM shipments [INTERVAL '1' DAY] s WHERE s.order_id = o.id) SAMPLE INTERVAL '12' HOUR
> CREATE CONTINUOUS QUERY both AS SELECT id FROM orders [INTERVAL '1' DAY] INTERSECT SELECT order_id FROM shipments [INTERVAL '1' DAY] SAMPLE INTERVAL '12' HOUR
> CREATE CONTINUOUS QUERY without AS SELECT id FROM customers EXCEPT SELECT id FROM orders [INTERVAL '1' DAY] SAMPLE INTERVAL '12' HOUR
feed rates
usd | 0.5 | 2026-01-01 00:00:00
usd | 0.25 | 2026-01-01 02:00:00
feed orders
1 | usd | 10.0 | 2026-01-01 01:00:00
2 | usd | 10.0 | 2026-01-01 03:00:00
feed shipments
1 | 2026-01-01 04:00:00
3 | 2026-01-01 05:00:00
advance rates 2026-01-01 12:00:01
advance orders 2026-01-01 12:00:01
advance shipments 2026-01-01 12:00:01
tick
changes interval_join
+ 2026-01-01 04:00:00 | 1 | 2026-01-01 01:00:00 | 2026-01-01 04:00:00

changes converted
+ 2026-01-01 01:00:00 | 1 | 5.0
+ 2026-01-01 03:00:00 | 2 | 2.5

changes~ named
+ 2026-01-01 01:00:00 | 1 | Ann
+ 2026-01-01 03:00:00 | 2 | Bob

changes~ outer_join
+ 2026-01-01 12:00:00 | 1 | 1
+ 2026-01-01 12:00:00 | 2 | NULL
+ 2026-01-01 12:00:00 | NULL | 3

changes shipped
+ 2026-01-01 12:00:00 | 1

changes waiting
+ 2026-01-01 12:00:00 | 2

changes both
+ 2026-01-01 12:00:00 | 1

changes without
+ 2026-01-01 12:00:00 | 9

