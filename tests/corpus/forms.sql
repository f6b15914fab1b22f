-- * from posreports natural join posreports b where vid = 101
SELECT * FROM posreports NATURAL JOIN posreports b WHERE vid = 101;
-- count(distinct *) from posreports
-- on: spark
SELECT count(DISTINCT *) FROM posreports;
-- count(*) from criticalsegs natural join posreports
SELECT count(*) FROM criticalsegs NATURAL JOIN posreports;
-- array(*) from criticalsegs
-- on: spark
-- error
SELECT array(*) FROM criticalsegs;
-- struct(*) from criticalsegs
-- on: spark
SELECT struct(*) FROM criticalsegs;
-- greatest(*) from n
-- on: spark
SELECT greatest(*) FROM n;
-- coalesce(*) from n
-- on: spark
SELECT coalesce(*) FROM n;
-- hash(*) from n
-- on: spark
SELECT hash(*) FROM n;
-- * from n, lateral (select * from m where m.k = n.k)
-- on: spark
SELECT * FROM n, LATERAL (SELECT * FROM m WHERE m.k = n.k);
-- * from n natural join m
SELECT * FROM n NATURAL JOIN m;
-- * from n natural left join m
SELECT * FROM n NATURAL LEFT JOIN m;
-- * from n natural full join m
SELECT * FROM n NATURAL FULL JOIN m;
-- n.*, m.* from n natural join m
SELECT n.*, m.* FROM n NATURAL JOIN m;
-- count(*) from n natural join (select * from m)
SELECT count(*) FROM n NATURAL JOIN (SELECT * FROM m);
-- * from (select * from n) natural join m
SELECT * FROM (SELECT * FROM n) NATURAL JOIN m;
-- * from n join m using (k)
SELECT * FROM n JOIN m USING (k);
-- n.*, m.y from n join m using (k)
SELECT n.*, m.y FROM n JOIN m USING (k);
-- * from n full join m using (k) full join o using (k)
-- on: spark
SELECT * FROM n FULL JOIN m USING (k) FULL JOIN o USING (k);
-- k, x, y, z from n full join m using (k) full join o using (k)
-- on: spark
SELECT k, x, y, z FROM n FULL JOIN m USING (k) FULL JOIN o USING (k);
-- k from n left join m using (k) right join o using (k)
SELECT k FROM n LEFT JOIN m USING (k) RIGHT JOIN o USING (k);
-- k from n right join m using (k) full join o using (k)
-- on: spark
SELECT k FROM n RIGHT JOIN m USING (k) FULL JOIN o USING (k);
-- * from n right join m using (k) left join o using (k)
-- on: spark
SELECT * FROM n RIGHT JOIN m USING (k) LEFT JOIN o USING (k);
-- k from n join m using (k) where k = 2
SELECT k FROM n JOIN m USING (k) WHERE k = 2;
-- k, n.k, m.k from n left join m using (k) where k > 1 order by k
SELECT k, n.k, m.k FROM n LEFT JOIN m USING (k) WHERE k > 1 ORDER BY k;
-- k, count(*) from n full join m using (k) group by k having k > 1 order by k
SELECT k, count(*) FROM n FULL JOIN m USING (k) GROUP BY k HAVING k > 1 ORDER BY k;
-- a, count(*) from e group by rollup (a)
SELECT a, count(*) FROM e GROUP BY ROLLUP (a);
-- a, count(*) from e group by cube (a, b)
SELECT a, count(*) FROM e GROUP BY CUBE (a, b);
-- a, count(*) from e group by grouping sets ((a), ())
SELECT a, count(*) FROM e GROUP BY GROUPING SETS ((a), ());
-- count(*) from e group by grouping sets (())
SELECT count(*) FROM e GROUP BY GROUPING SETS (());
-- count(*) from e group by ()
-- on: spark
-- error
SELECT count(*) FROM e GROUP BY ();
-- count(*) from n group by ()
-- on: spark
-- error
SELECT count(*) FROM n GROUP BY ();
-- count(*), sum(a) from e
SELECT count(*), sum(a) FROM e;
-- 1 from e having count(*) >= 0
SELECT 1 FROM e HAVING count(*) >= 0;
-- 1 from n having true
SELECT 1 FROM n HAVING true;
-- x from n having true
-- error
SELECT x FROM n HAVING true;
-- k + x, x + k, x, count(*) from n group by grouping sets ((k + x), (x + k), (x))
-- on: spark
SELECT k + x, x + k, x, count(*) FROM n GROUP BY GROUPING SETS ((k + x), (x + k), (x));
-- count(*) from n group by grouping sets ((k + x), (x + k), (x))
-- on: spark
SELECT count(*) FROM n GROUP BY GROUPING SETS ((k + x), (x + k), (x));
-- 1 as col1, col1 from values (10)
SELECT 1 AS col1, col1 FROM VALUES (10);
-- 1 as k, k from n
SELECT 1 AS k, k FROM n;
-- k + 1 as k, k as j from n
SELECT k + 1 AS k, k AS j FROM n;
-- x as k, k + 1 as c, c + k as q from n
SELECT x AS k, k + 1 AS c, c + k AS q FROM n;
-- 1 as a, a + 1 as b, b + a from values (10) as t(b)
-- on: spark
SELECT 1 AS a, a + 1 AS b, b + a FROM VALUES (10) AS t(b);
-- 1 as x, (select x) from values (10) as t(y)
-- on: spark
-- error
SELECT 1 AS x, (SELECT x) FROM VALUES (10) AS t(y);
-- sum(x) as k, k + 1 from n group by k
SELECT sum(x) AS k, k + 1 FROM n GROUP BY k;
-- count(*) as q, q + 1 from n
-- on: spark
SELECT count(*) AS q, q + 1 FROM n;
-- distinct d from z
SELECT DISTINCT d FROM z;
-- d, count(*) from z group by d
SELECT d, count(*) FROM z GROUP BY d;
-- count(distinct d) from z
SELECT count(DISTINCT d) FROM z;
-- i, d from z union select i, d from z
SELECT i, d FROM z UNION SELECT i, d FROM z;
-- -d as e from z union select d from z
SELECT -d AS e FROM z UNION SELECT d FROM z;
-- d from z intersect select -d from z
SELECT d FROM z INTERSECT SELECT -d FROM z;
-- d from z except select -d from z
SELECT d FROM z EXCEPT SELECT -d FROM z;
-- 1/d from z where d = 0
-- error
SELECT 1/d FROM z WHERE d = 0;
-- a.i, b.i from z a join z b on a.d = b.d
SELECT a.i, b.i FROM z a JOIN z b ON a.d = b.d;
-- i, rank() over (order by d) from z order by i
SELECT i, rank() OVER (ORDER BY d) FROM z ORDER BY i;
-- i, sum(i) over (partition by d) from z order by i
SELECT i, sum(i) OVER (PARTITION BY d) FROM z ORDER BY i;
-- i from z where d in (0.0)
SELECT i FROM z WHERE d IN (0.0);
-- i from z where d in (select -d from z)
SELECT i FROM z WHERE d IN (SELECT -d FROM z);
-- cast(d as string) as q from z
-- on: spark
SELECT CAST(d AS STRING) AS q FROM z;
-- max(d), min(d) from z where d = 0
SELECT max(d), min(d) FROM z WHERE d = 0;
-- var_pop(1e8 + x) from n
SELECT var_pop(1e8 + x) FROM n;
-- 1 in ()
-- on: spark
-- error
SELECT 1 IN ();
-- k from n where k in ()
-- on: spark
-- error
SELECT k FROM n WHERE k IN ();
-- k from n order by 0
-- on: spark
-- error
SELECT k FROM n ORDER BY 0;
-- k from n order by 2
-- on: spark
-- error
SELECT k FROM n ORDER BY 2;
-- k from n order by -1
-- on: spark
-- error
SELECT k FROM n ORDER BY -1;
-- k from n order by 1.5
-- on: spark
SELECT k FROM n ORDER BY 1.5;
-- k from n order by '1'
-- on: spark
SELECT k FROM n ORDER BY '1';
-- k from n order by 1 + 0
-- on: spark
SELECT k FROM n ORDER BY 1 + 0;
-- k from n group by 0
-- on: spark
-- error
SELECT k FROM n GROUP BY 0;
-- k from n group by 2
-- on: spark
-- error
SELECT k FROM n GROUP BY 2;
-- count(*) from n group by 1
-- error
SELECT count(*) FROM n GROUP BY 1;
-- k, count(*) from n group by 1
SELECT k, count(*) FROM n GROUP BY 1;
-- k from n group by -1
-- on: spark
-- error
SELECT k FROM n GROUP BY -1;
-- 1e309
-- on: spark
-- error
SELECT 1E309;
-- 1e308, -1e308
SELECT 1E308, -1E308;
-- 1e-400
SELECT 1E-400;
-- 1e309d
-- on: spark
-- error
SELECT 1e309D;
-- 1e309f
-- on: spark
-- error
SELECT 1e309F;
-- 1e39f
-- on: spark
-- error
SELECT 1e39F;
-- 128y
-- on: spark
-- error
SELECT 128Y;
-- -128y
SELECT -128Y;
-- -129y
-- on: spark
-- error
SELECT -129Y;
-- 32768s
-- on: spark
-- error
SELECT 32768S;
-- -32768s, -2147483648, -9223372036854775808, -9223372036854775808l
SELECT -32768S, -2147483648, -9223372036854775808, -9223372036854775808L;
-- 9223372036854775808
-- on: spark
SELECT 9223372036854775808;
-- 9223372036854775808l
-- on: spark
-- error
SELECT 9223372036854775808L;
-- 99999999999999999999999999999999999999
-- on: spark
SELECT 99999999999999999999999999999999999999;
-- 999999999999999999999999999999999999999
-- on: spark
-- error
SELECT 999999999999999999999999999999999999999;
-- grouping(k), count(*) from n group by k
-- on: spark
-- error
SELECT grouping(k), count(*) FROM n GROUP BY k;
-- grouping_id(), count(*) from n group by k
-- on: spark
-- error
SELECT grouping_id(), count(*) FROM n GROUP BY k;
-- grouping(k) from n
-- on: spark
-- error
SELECT grouping(k) FROM n;
-- grouping(k + 1), count(*) from n group by rollup (k)
-- error
SELECT grouping(k + 1), count(*) FROM n GROUP BY ROLLUP (k);
-- k from n group by rollup(k) having grouping(k) = 1
SELECT k FROM n GROUP BY ROLLUP(k) HAVING grouping(k) = 1;
-- k from n group by rollup(k) order by grouping(k), k
SELECT k FROM n GROUP BY ROLLUP(k) ORDER BY grouping(k), k;
-- k, grouping_id(k) from n group by cube(k)
SELECT k, grouping_id(k) FROM n GROUP BY CUBE(k);
-- k, x, grouping_id(x, k) from n group by cube(k, x)
-- on: spark
-- error
SELECT k, x, grouping_id(x, k) FROM n GROUP BY CUBE(k, x);
-- k from n, m
-- on: spark
-- error
SELECT k FROM n, m;
-- x, y from n, m where n.k = m.k
SELECT x, y FROM n, m WHERE n.k = m.k;
-- count(*) from n, n
SELECT count(*) FROM n, n;
-- * from n, n
SELECT * FROM n, n;
-- 1 from n, n limit 1
SELECT 1 FROM n, n LIMIT 1;
-- n.k from n, n
-- on: spark
-- error
SELECT n.k FROM n, n;
-- a.k, b.k from n a, n b where a.k = b.k
SELECT a.k, b.k FROM n a, n b WHERE a.k = b.k;
-- * from n cross join n
SELECT * FROM n CROSS JOIN n;
-- * from n join n using (k)
SELECT * FROM n JOIN n USING (k);
-- * from n natural join n
SELECT * FROM n NATURAL JOIN n;
-- count(*) from n join n on true
SELECT count(*) FROM n JOIN n ON true;
-- p, q from n as t(p, q)
SELECT p, q FROM n AS t(p, q);
-- * from n as t(p, q) join m as u(p, r) using (p)
SELECT * FROM n AS t(p, q) JOIN m AS u(p, r) USING (p);
-- p, count(*) from n as t(p, q) group by p order by p
SELECT p, count(*) FROM n AS t(p, q) GROUP BY p ORDER BY p;
-- k from n as t(p, q)
-- on: spark
-- error
SELECT k FROM n AS t(p, q);
-- p from n as t(p)
-- on: spark
-- error
SELECT p FROM n AS t(p);
-- p from n as t(p, q, r)
-- on: spark
-- error
SELECT p FROM n AS t(p, q, r);
-- p from (select k, x from n) as t(p, q)
SELECT p FROM (SELECT k, x FROM n) AS t(p, q);
-- with c(p, q) as (select k, x from n) select p + q from c
WITH c(p, q) AS (SELECT k, x FROM n) SELECT p + q FROM c;
-- with c(p, q) as (select k, x from n) select * from c
WITH c(p, q) AS (SELECT k, x FROM n) SELECT * FROM c;
-- values (1, 2), (3, 4)
VALUES (1, 2), (3, 4);
-- values 1, 2
VALUES 1, 2;
-- values (1, 'a') as t(p, q)
VALUES (1, 'a') AS t(p, q);
-- * from values (1, 2), (3, 4)
SELECT * FROM VALUES (1, 2), (3, 4);
-- col1, col2 from values (1, 2)
SELECT col1, col2 FROM VALUES (1, 2);
-- * from (values (1, 2)) as t(a, b)
SELECT * FROM (VALUES (1, 2)) AS t(a, b);
-- * from (values (1, 2))
SELECT * FROM (VALUES (1, 2));
-- * from values 1, 2 as t(a)
SELECT * FROM VALUES 1, 2 AS t(a);
-- a from values (1) t(a)
SELECT a FROM VALUES (1) t(a);
-- values (1), (2) order by 1 desc
VALUES (1), (2) ORDER BY 1 DESC;
-- values (1) union all values (2)
VALUES (1) UNION ALL VALUES (2);
-- 1 union all values (2)
SELECT 1 UNION ALL VALUES (2);
-- table n
TABLE n;
-- table n order by x desc limit 2
TABLE n ORDER BY x DESC LIMIT 2;
-- table n union all table m
TABLE n UNION ALL TABLE m;
-- (table n)
(TABLE n);
-- * from (table n)
SELECT * FROM (TABLE n);
-- from n
FROM n;
-- from n select k
FROM n SELECT k;
-- * from (select k, x from n) pivot (sum(x) for k in (1, 2))
-- on: spark
SELECT * FROM (SELECT k, x FROM n) PIVOT (sum(x) FOR k IN (1, 2));
-- * from (select k, x from n) pivot (sum(x) as s, count(*) as c for k in (1 as one, 2 as two))
-- on: spark
SELECT * FROM (SELECT k, x FROM n) PIVOT (sum(x) AS s, count(*) AS c FOR k IN (1 AS one, 2 AS two));
-- `1`, `2` from (select k, x from n) pivot (sum(x) for k in (1, 2))
-- on: spark
SELECT `1`, `2` FROM (SELECT k, x FROM n) PIVOT (sum(x) FOR k IN (1, 2));
-- one from (select k, x from n) pivot (sum(x) for k in (1 as one, 2 as two))
-- on: spark
SELECT one FROM (SELECT k, x FROM n) PIVOT (sum(x) FOR k IN (1 AS one, 2 AS two));
-- * from n pivot (sum(x) for k in (1, 2))
-- on: spark
SELECT * FROM n PIVOT (sum(x) FOR k IN (1, 2));
-- * from n unpivot (v for c in (k, x))
-- on: spark
SELECT * FROM n UNPIVOT (v FOR c IN (k, x));
-- nothing from (select k, x from n) pivot (sum(x) for k in (1, 2))
-- on: spark
-- error
SELECT nothing FROM (SELECT k, x FROM n) PIVOT (sum(x) FOR k IN (1, 2));
-- -128y, -32768s, -1l, -1.5bd, -1e3d, -1.5f
-- on: spark
SELECT -128Y, -32768S, -1L, -1.5BD, -1e3D, -1.5F;
-- - 128y
SELECT - 128Y;
-- -(128y)
-- on: spark
-- error
SELECT -(128Y);
-- date_sub(date '2026-01-10', '1')
SELECT date_sub(DATE '2026-01-10', '1');
-- date_add(date '2026-01-10', '1')
SELECT date_add(DATE '2026-01-10', '1');
-- date_sub(date '2026-01-10', '1.5')
-- on: spark
-- error
SELECT date_sub(DATE '2026-01-10', '1.5');
-- date_sub('2026-01-10', 1)
SELECT date_sub('2026-01-10', 1);
-- date_sub(date '2026-01-10', 1.5)
-- on: spark
-- error
SELECT date_sub(DATE '2026-01-10', 1.5);
-- date_sub(since, 1), date_add(since, vid) from owners
SELECT date_sub(since, 1), date_add(since, vid) FROM owners;
-- date_sub(since, '1') from owners
SELECT date_sub(since, '1') FROM owners;
-- add_months(since, '1') from owners
SELECT add_months(since, '1') FROM owners;
-- k from n except select k from m order by k
SELECT k FROM n EXCEPT SELECT k FROM m ORDER BY k;
-- k from n except select k from m order by 1 limit 1
SELECT k FROM n EXCEPT SELECT k FROM m ORDER BY 1 LIMIT 1;
-- k from n minus select k from m order by k
SELECT k FROM n MINUS SELECT k FROM m ORDER BY k;
-- k as q from n except select k from m order by q
SELECT k AS q FROM n EXCEPT SELECT k FROM m ORDER BY q;
-- k from n except all select k from m order by k
SELECT k FROM n EXCEPT ALL SELECT k FROM m ORDER BY k;
-- k from n intersect select k from m order by k
SELECT k FROM n INTERSECT SELECT k FROM m ORDER BY k;
-- k from n union select k from m order by k
SELECT k FROM n UNION SELECT k FROM m ORDER BY k;
-- (select k from n) except (select k from m) order by k
(SELECT k FROM n) EXCEPT (SELECT k FROM m) ORDER BY k;
-- n.k from n except select k from m order by n.k
-- on: spark
SELECT n.k FROM n EXCEPT SELECT k FROM m ORDER BY n.k;
-- * except (x) from n order by k
SELECT * EXCEPT (x) FROM n ORDER BY k;
-- n.* except (x) from n
SELECT n.* EXCEPT (x) FROM n;
-- count() from n
-- on: spark
-- error
SELECT count() FROM n;
-- count(distinct) from n
-- on: spark
-- error
SELECT count(DISTINCT) FROM n;
-- count(all k) from n
SELECT count(ALL k) FROM n;
-- count(n.*) from n
-- on: spark
-- error
SELECT count(n.*) FROM n;
-- count(k, x) from n
-- on: spark
SELECT count(k, x) FROM n;
-- id from range(3)
SELECT id FROM range(3);
-- * from range(3)
SELECT * FROM range(3);
-- id + 1 from range(1, 4)
SELECT id + 1 FROM range(1, 4);
-- r.id from range(0, 10, 3) as r where r.id > 1
SELECT r.id FROM range(0, 10, 3) AS r WHERE r.id > 1;
-- r.i from range(3) as r(i)
SELECT r.i FROM range(3) AS r(i);
-- n.k, r.id from n join range(3) r on n.k = r.id
SELECT n.k, r.id FROM n JOIN range(3) r ON n.k = r.id;
-- count(*) from range(3) where id > 0
SELECT count(*) FROM range(3) WHERE id > 0;
-- sum(id) from range(1000)
SELECT sum(id) FROM range(1000);
-- x + k from n group by k + x
-- on: spark
SELECT x + k FROM n GROUP BY k + x;
-- k + 1, count(*) from n group by k
SELECT k + 1, count(*) FROM n GROUP BY k;
-- k, x from n group by k
-- error
SELECT k, x FROM n GROUP BY k;
-- k from n group by k having x > 1
-- error
SELECT k FROM n GROUP BY k HAVING x > 1;
-- * from posreports p join criticalsegs c using (seg) where p.vid = 101
SELECT * FROM posreports p JOIN criticalsegs c USING (seg) WHERE p.vid = 101;
-- c.*, p.vid from posreports p join criticalsegs c using (seg) where seg = 3 and vid = 101
SELECT c.*, p.vid FROM posreports p JOIN criticalsegs c USING (seg) WHERE seg = 3 AND vid = 101;
-- seg, count(*) from posreports join criticalsegs using (seg) group by seg
SELECT seg, count(*) FROM posreports JOIN criticalsegs USING (seg) GROUP BY seg;
-- upper(name) as u from posreports right join criticalsegs using (seg) where seg is null
SELECT upper(name) AS u FROM posreports RIGHT JOIN criticalsegs USING (seg) WHERE seg IS NULL;
-- k from n join m using (k) where n.k = 2 and m.k = 2
SELECT k FROM n JOIN m USING (k) WHERE n.k = 2 AND m.k = 2;
-- k from n left semi join m using (k) where k = 2
SELECT k FROM n LEFT SEMI JOIN m USING (k) WHERE k = 2;
-- * from n left anti join m using (k)
SELECT * FROM n LEFT ANTI JOIN m USING (k);
-- k from n join m using (k) order by k
SELECT k FROM n JOIN m USING (k) ORDER BY k;
-- k from n full join m using (k) where k = 4
SELECT k FROM n FULL JOIN m USING (k) WHERE k = 4;
-- k + 1 as j from n join m using (k) group by k
SELECT k + 1 AS j FROM n JOIN m USING (k) GROUP BY k;
-- (select max(y) from m where m.k = n.k) from n
-- on: spark
SELECT (SELECT max(y) FROM m WHERE m.k = n.k) FROM n;
-- k, exists (select 1 from m where m.k = n.k) from n
-- on: spark
SELECT k, EXISTS (SELECT 1 FROM m WHERE m.k = n.k) FROM n;
-- (select max(y) from m), (select 1) from n
SELECT (SELECT max(y) FROM m), (SELECT 1) FROM n;
-- a.b from n
-- on: spark
-- error
SELECT a.b FROM n;
-- since + 1, since - 1 from owners
SELECT since + 1, since - 1 FROM owners;
-- since + interval '1' day from owners
-- on: spark
SELECT since + INTERVAL '1' DAY FROM owners;
-- at + interval '1' hour from readings
SELECT at + INTERVAL '1' HOUR FROM readings;
-- year(since) + 1 from owners
SELECT year(since) + 1 FROM owners;
-- * from (select since + 1 from owners)
SELECT * FROM (SELECT since + 1 FROM owners);
-- max(since) - 1 from owners
SELECT max(since) - 1 FROM owners;
-- q + 1 from (select since as q from owners)
-- on: spark
SELECT q + 1 FROM (SELECT since AS q FROM owners);
-- q + 1 from (select vid as q from owners)
SELECT q + 1 FROM (SELECT vid AS q FROM owners);
-- x as y, y + 1 from n
-- on: spark
SELECT x AS y, y + 1 FROM n;
-- x as k, k + 1 from n
SELECT x AS k, k + 1 FROM n;
-- x as q, q from n
SELECT x AS q, q FROM n;
-- sum(x) over (partition by k order by x) from n
SELECT sum(x) OVER (PARTITION BY k ORDER BY x) FROM n;
-- k is null = true from n
-- on: spark
-- error
SELECT k IS NULL = true FROM n;
-- 1 = 1 = true
SELECT 1 = 1 = true;
-- k between 1 and 2 and x > 1 from n
SELECT k BETWEEN 1 AND 2 AND x > 1 FROM n;
-- not k = 1 from n
SELECT NOT k = 1 FROM n;
-- 1 + 2 || 'x', 'x' || 1 * 2
SELECT 1 + 2 || 'x', 'x' || 1 * 2;
-- 2 | 1 & 0, 1 | 2 ^ 3, '1' || 2 + 10
-- on: spark
SELECT 2 | 1 & 0, 1 | 2 ^ 3, '1' || 2 + 10;
-- 5 & 3 = 1, 1 < 2 = true, 1 = 1 is null
SELECT 5 & 3 = 1, 1 < 2 = true, 1 = 1 IS NULL;
-- k & 1 | 2 from n
SELECT k & 1 | 2 FROM n;
-- k from n where k & 1 = 1
SELECT k FROM n WHERE k & 1 = 1;
-- k from n where not k in (1, 2) or x = 10
SELECT k FROM n WHERE NOT k IN (1, 2) OR x = 10;
-- d, count(*) from z group by d order by d
SELECT d, count(*) FROM z GROUP BY d ORDER BY d;
-- k from n order by x desc limit 2 offset 1
SELECT k FROM n ORDER BY x DESC LIMIT 2 OFFSET 1;
-- k as k from n order by k
SELECT k AS K FROM n ORDER BY K;
-- -k, +k, ~k from n
SELECT -k, +k, ~k FROM n;
-- +'5'
-- on: spark
SELECT +'5';
-- + -5, - +5, - - 5
SELECT + -5, - +5, - - 5;
-- 10 / 4, 10 div 4, 10 % 4, -7 % 3, -7 div 2
SELECT 10 / 4, 10 DIV 4, 10 % 4, -7 % 3, -7 DIV 2;
-- 'a' like 'a' = true
-- on: spark
-- error
SELECT 'a' LIKE 'a' = true;
-- 'a' like 'a' or true
SELECT 'a' LIKE 'A' OR true;
-- k, x from n group by rollup (k, x) order by k, x
SELECT k, x FROM n GROUP BY ROLLUP (k, x) ORDER BY k, x;
-- k, count(*) from n group by k with rollup
SELECT k, count(*) FROM n GROUP BY k WITH ROLLUP;
-- k, grouping(k) from n group by k with cube
SELECT k, grouping(k) FROM n GROUP BY k WITH CUBE;
-- a, count(*) from e group by a with rollup
SELECT a, count(*) FROM e GROUP BY a WITH ROLLUP;
-- a, sum(b) from e group by rollup (a) having sum(b) is null
SELECT a, sum(b) FROM e GROUP BY ROLLUP (a) HAVING sum(b) IS NULL;
-- k from n group by grouping sets ((k), (k))
SELECT k FROM n GROUP BY GROUPING SETS ((k), (k));
-- k, x from n group by grouping sets (k, (k, x), ())
SELECT k, x FROM n GROUP BY GROUPING SETS (k, (k, x), ());
-- k, x, count(*) from n group by k, x grouping sets ((k), (x))
-- on: spark
SELECT k, x, count(*) FROM n GROUP BY k, x GROUPING SETS ((k), (x));
-- count(*) from n group by k grouping sets ((k))
-- on: spark
SELECT count(*) FROM n GROUP BY k GROUPING SETS ((k));
-- distinct k from n order by k
SELECT DISTINCT k FROM n ORDER BY k;
-- distinct k, x + 1 from n order by x + 1
-- on: spark
-- error
SELECT DISTINCT k, x + 1 FROM n ORDER BY x + 1;
-- * from n where (k, x) = (1, 10)
-- on: spark
SELECT * FROM n WHERE (k, x) = (1, 10);
-- * from n where (k, x) in ((1, 10))
-- on: spark
SELECT * FROM n WHERE (k, x) IN ((1, 10));
-- if(k = 1, 'a', 'b') from n
SELECT IF(k = 1, 'a', 'b') FROM n;
-- k from n where k = 1 group by k having count(*) > 0 order by count(*)
-- on: spark
-- error
SELECT k FROM n WHERE k = 1 GROUP BY k HAVING count(*) > 0 ORDER BY count(*);
-- count(*) c, count(*) + 1 from n
SELECT count(*) c, count(*) + 1 FROM n;
-- first(k), any_value(x) from n where k = 1
-- on: spark
SELECT first(k), any_value(x) FROM n WHERE k = 1;
-- 'it''s', "q", 'a' 'b'
-- on: spark
SELECT 'it''s', "q", 'a' 'b';
-- 1.0, 1.10, 100., .5, 1e1, 12345678.9e0, 1e-4, 1e7
SELECT 1.0, 1.10, 100., .5, 1e1, 12345678.9e0, 1e-4, 1e7;
-- 1 as a, a
SELECT 1 AS a, a;
-- k a, a + 1 b, a + b from n
-- on: spark
SELECT k a, a + 1 b, a + b FROM n;
-- n.k + m.k from n join m on n.k = m.k
SELECT n.k + m.k FROM n JOIN m ON n.k = m.k;
-- * from n where exists (select * from m where m.k = n.k)
SELECT * FROM n WHERE EXISTS (SELECT * FROM m WHERE m.k = n.k);
-- t.* from (select *, x + 1 from n) t
SELECT t.* FROM (SELECT *, x + 1 FROM n) t;
-- array(*) from n
-- on: spark
SELECT array(*) FROM n;
-- struct(n.*) from n
-- on: spark
SELECT struct(n.*) FROM n;
-- k from n where x = (select max(x) from n)
SELECT k FROM n WHERE x = (SELECT max(x) FROM n);
-- cast(k as string), cast(x as bigint) + 1, k::int, k::double + 1 from n
SELECT CAST(k AS STRING), CAST(x AS BIGINT) + 1, k::int, k::double + 1 FROM n;
-- k from n limit -1
-- on: spark
-- error
SELECT k FROM n LIMIT -1;
-- k from n order by k limit 1.5
-- on: spark
-- error
SELECT k FROM n ORDER BY k LIMIT 1.5;
-- k from n limit k
-- on: spark
-- error
SELECT k FROM n LIMIT k;
-- k from n order by k offset -1
-- on: spark
-- error
SELECT k FROM n ORDER BY k OFFSET -1;
-- k from n order by k limit all
-- on: spark
SELECT k FROM n ORDER BY k LIMIT ALL;
-- top 1 k from n
-- on: spark
-- error
SELECT TOP 1 k FROM n;
-- k from n order by k fetch first 1 row only
-- on: spark
-- error
SELECT k FROM n ORDER BY k FETCH FIRST 1 ROW ONLY;
-- distinct on (k) k from n
-- on: spark
-- error
SELECT DISTINCT ON (k) k FROM n;
-- k from n where count(*) > 1
-- error
SELECT k FROM n WHERE count(*) > 1;
-- sum(sum(x)) from n
-- error
SELECT sum(sum(x)) FROM n;
-- k from n where rank() over (order by k) = 1
-- error
SELECT k FROM n WHERE rank() OVER (ORDER BY k) = 1;
-- k from n qualify row_number() over (order by x) = 1
SELECT k FROM n QUALIFY row_number() OVER (ORDER BY x) = 1;
-- 'a' + 1
-- on: spark
-- error
SELECT 'a' + 1;
-- 1 + true
-- on: spark
-- error
SELECT 1 + true;
-- not 1
-- on: spark
-- error
SELECT NOT 1;
-- 1 and true
-- on: spark
-- error
SELECT 1 AND true;
-- k from n where 1
-- on: spark
-- error
SELECT k FROM n WHERE 1;
-- k from n where k
-- on: spark
-- error
SELECT k FROM n WHERE k;
-- k from n where null
-- on: spark
-- error
SELECT k FROM n WHERE NULL;
-- k from n where 'true'
-- on: spark
-- error
SELECT k FROM n WHERE 'true';
-- k, k from n group by k, k
SELECT k, k FROM n GROUP BY k, k;
-- * from n group by k
-- error
SELECT * FROM n GROUP BY k;
-- distinct k from n order by x
-- on: spark
-- error
SELECT DISTINCT k FROM n ORDER BY x;
-- k as a from n where a = 1
-- on: spark
-- error
SELECT k AS a FROM n WHERE a = 1;
-- k as a from n group by a
SELECT k AS a FROM n GROUP BY a;
-- k as a, count(*) from n group by a having a > 1
SELECT k AS a, count(*) FROM n GROUP BY a HAVING a > 1;
-- x as k from n group by k
-- error
SELECT x AS k FROM n GROUP BY k;
-- x as k, count(*) from n group by k
-- error
SELECT x AS k, count(*) FROM n GROUP BY k;
-- x + 1 as x from n order by x desc
SELECT x + 1 AS x FROM n ORDER BY x DESC;
-- -x as k from n order by k
SELECT -x AS k FROM n ORDER BY k;
-- k from n order by n.x desc
SELECT k FROM n ORDER BY n.x DESC;
-- -k as k from n order by k + 1
SELECT -k AS k FROM n ORDER BY k + 1;
-- -k as q from n order by q + 1
SELECT -k AS q FROM n ORDER BY q + 1;
-- max(x) as x from n group by k having x > 15
SELECT max(x) AS x FROM n GROUP BY k HAVING x > 15;
-- max(x) as q from n group by k having q > 15
SELECT max(x) AS q FROM n GROUP BY k HAVING q > 15;
-- k from n join m on k = k
-- on: spark
-- error
SELECT k FROM n JOIN m ON k = k;
-- a.k from n a join m a on true
-- on: spark
-- error
SELECT a.k FROM n a JOIN m a ON true;
-- 1 union select 'a'
-- on: spark
-- error
SELECT 1 UNION SELECT 'a';
-- 1 union all select '2'
-- on: spark
SELECT 1 UNION ALL SELECT '2';
-- 1 union select true
-- on: spark
-- error
SELECT 1 UNION SELECT true;
-- k from n union select date '2020-01-01'
-- on: spark
-- error
SELECT k FROM n UNION SELECT DATE '2020-01-01';
-- 1 union all select 2 intersect select 2
SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 2;
-- 1 union all select 1 except select 1
SELECT 1 UNION ALL SELECT 1 EXCEPT SELECT 1;
-- 1 except select 1 union all select 1
SELECT 1 EXCEPT SELECT 1 UNION ALL SELECT 1;
-- 3 except select 3 intersect select 4
SELECT 3 EXCEPT SELECT 3 INTERSECT SELECT 4;
-- 1 intersect select 1 union select 5
SELECT 1 INTERSECT SELECT 1 UNION SELECT 5;
-- 1 minus select 2
SELECT 1 MINUS SELECT 2;
-- k, x from n union all by name select x, k from n
-- on: spark
-- error
SELECT k, x FROM n UNION ALL BY NAME SELECT x, k FROM n;
-- 1 limit 1 union select 2
-- on: spark
-- error
SELECT 1 LIMIT 1 UNION SELECT 2;
-- (select 1 limit 1) union all (select 2)
(SELECT 1 LIMIT 1) UNION ALL (SELECT 2);
-- 1 order by 1 union all select 2
-- on: spark
-- error
SELECT 1 ORDER BY 1 UNION ALL SELECT 2;
-- 1, 2 union select 1
-- on: spark
-- error
SELECT 1, 2 UNION SELECT 1;
-- * from n, m join o on n.k = o.k
SELECT * FROM n, m JOIN o ON n.k = o.k;
-- * from n, m join o on m.k = o.k
SELECT * FROM n, m JOIN o ON m.k = o.k;
-- * from n left join m join o on m.k = o.k on n.k = m.k
-- on: spark
-- error
SELECT * FROM n LEFT JOIN m JOIN o ON m.k = o.k ON n.k = m.k;
-- * from (n join m using (k)) join o using (k)
-- on: spark
SELECT * FROM (n JOIN m USING (k)) JOIN o USING (k);
-- * from n join (m join o using (k)) using (k)
-- on: spark
SELECT * FROM n JOIN (m JOIN o USING (k)) USING (k);
-- * from n join (m full join o using (k)) using (k)
-- on: spark
SELECT * FROM n JOIN (m FULL JOIN o USING (k)) USING (k);
-- n.k from n left join m using (k)
SELECT n.k FROM n LEFT JOIN m USING (k);
-- m.k from n left join m using (k)
SELECT m.k FROM n LEFT JOIN m USING (k);
-- * from n join m
SELECT * FROM n JOIN m;
-- count(*) from n left join m
SELECT count(*) FROM n LEFT JOIN m;
-- * from n inner join m on n.k = m.k and m.y > 200
SELECT * FROM n INNER JOIN m ON n.k = m.k AND m.y > 200;
-- * from n left outer join m on n.k = m.k and n.x > 10
SELECT * FROM n LEFT OUTER JOIN m ON n.k = m.k AND n.x > 10;
-- * from n right join m on n.k = m.k where n.k is null
SELECT * FROM n RIGHT JOIN m ON n.k = m.k WHERE n.k IS NULL;
-- * from n full outer join m on n.k = m.k
SELECT * FROM n FULL OUTER JOIN m ON n.k = m.k;
-- * from n cross join m on n.k = m.k
SELECT * FROM n CROSS JOIN m ON n.k = m.k;
-- case when true then 1 else 'a' end
-- on: spark
SELECT CASE WHEN true THEN 1 ELSE 'a' END;
-- case when k = 1 then 1 else '2' end from n
SELECT CASE WHEN k = 1 THEN 1 ELSE '2' END FROM n;
-- 1 in ('1')
SELECT 1 IN ('1');
-- 'a' in (1)
-- on: spark
-- error
SELECT 'a' IN (1);
-- 1x
-- on: spark
-- error
SELECT 1x;
-- 1 a b
-- on: spark
-- error
SELECT 1 a b;
-- k x from n order by x
SELECT k x FROM n ORDER BY x;
-- k from n q where n.k = 1
-- on: spark
-- error
SELECT k FROM n q WHERE n.k = 1;
-- n.k from n
SELECT N.K FROM n;
-- count(*) filter (where k > 1), sum(distinct x) from n
SELECT count(*) FILTER (WHERE k > 1), sum(DISTINCT x) FROM n;
-- k, count(*) from n group by all
-- on: spark
SELECT k, count(*) FROM n GROUP BY ALL;
-- k, x from n order by all
-- on: spark
SELECT k, x FROM n ORDER BY ALL;
-- k + 1, count(*) from n group by all
-- on: spark
SELECT k + 1, count(*) FROM n GROUP BY ALL;
-- k from n order by k nulls last
SELECT k FROM n ORDER BY k NULLS LAST;
-- k from n order by k desc nulls first
SELECT k FROM n ORDER BY k DESC NULLS FIRST;
-- interval 1 day + date '2020-01-01'
-- on: spark
SELECT INTERVAL 1 DAY + DATE '2020-01-01';
-- * from n as a(p, q), n as b(r, s) where p = r
SELECT * FROM n AS a(p, q), n AS b(r, s) WHERE p = r;
-- * from (select k, k from n)
-- on: spark
SELECT * FROM (SELECT k, k FROM n);
-- k from (select k, x as k from n)
-- on: spark
-- error
SELECT k FROM (SELECT k, x AS k FROM n);
-- q.k from (select k as k from n) q
SELECT q.k FROM (SELECT k AS K FROM n) q;
-- k from n where x > (select avg(y) from m where m.k = n.k)
SELECT k FROM n WHERE x > (SELECT avg(y) FROM m WHERE m.k = n.k);
-- k from n where k not in (select k from m)
SELECT k FROM n WHERE k NOT IN (SELECT k FROM m);
-- k from n where k not in (select k from m where k is not null)
SELECT k FROM n WHERE k NOT IN (SELECT k FROM m WHERE k IS NOT NULL);
-- exists (select 1 from m) = true
-- on: spark
-- error
SELECT EXISTS (SELECT 1 FROM m) = true;
-- exists (select 1 from m) and true
SELECT EXISTS (SELECT 1 FROM m) AND true;
-- sum(x) from n having sum(x) > 1000
SELECT sum(x) FROM n HAVING sum(x) > 1000;
-- k, sum(x) from n
-- error
SELECT k, sum(x) FROM n;
-- 1 where false
SELECT 1 WHERE false;
-- count(*) where false
SELECT count(*) WHERE false;
-- 1.0e0, 007, 1e+5, 0.00, -0.0, -0
SELECT 1.0E0, 007, 1e+5, 0.00, -0.0, -0;
-- -0.0e0, 0e0
SELECT -0.0e0, 0e0;
-- case k when 1 then 2 end + 1 from n
SELECT CASE k WHEN 1 THEN 2 END + 1 FROM n;
-- (k = 1) = true, k in (1) and true, - - k, -(-k) from n
SELECT (k = 1) = true, k IN (1) AND true, - - k, -(-k) FROM n;
-- (select 1) + 1
SELECT (SELECT 1) + 1;
-- k + (select 1) from n
SELECT k + (SELECT 1) FROM n;
-- count(*) + sum(x) as q, sum(x) from n
SELECT count(*) + sum(x) AS q, sum(x) FROM n;
-- k, sum(x) from n group by k order by sum(x) desc
SELECT k, sum(x) FROM n GROUP BY k ORDER BY sum(x) DESC;
-- k, sum(x) from n group by k having sum(x) > 10 order by sum(x)
SELECT k, sum(x) FROM n GROUP BY k HAVING sum(x) > 10 ORDER BY sum(x);
-- k from n group by k order by max(x)
SELECT k FROM n GROUP BY k ORDER BY max(x);
-- k from n group by k having max(x) > 10 order by k
SELECT k FROM n GROUP BY k HAVING max(x) > 10 ORDER BY k;
-- k from n group by k having max(x) > 10 order by max(x)
-- on: spark
-- error
SELECT k FROM n GROUP BY k HAVING max(x) > 10 ORDER BY max(x);
-- k % 2 as q, count(*) from n group by q order by q
SELECT k % 2 AS q, count(*) FROM n GROUP BY q ORDER BY q;
-- k % 2, count(*) from n group by k % 2 order by k % 2
SELECT k % 2, count(*) FROM n GROUP BY k % 2 ORDER BY k % 2;
-- k % 2, count(*) from n group by 1 order by 1
SELECT k % 2, count(*) FROM n GROUP BY 1 ORDER BY 1;
-- upper(name), count(*) from criticalsegs group by upper(name)
SELECT upper(name), count(*) FROM criticalsegs GROUP BY upper(name);
-- upper(name) from criticalsegs group by upper(name)
SELECT UPPER(name) FROM criticalsegs GROUP BY upper(name);
-- name from criticalsegs group by name
SELECT name FROM criticalsegs GROUP BY NAME;
-- k + 1 + 2 from n group by k + 1
SELECT k + 1 + 2 FROM n GROUP BY k + 1;
-- (k + 1) + 2 from n group by k + 1
SELECT (k + 1) + 2 FROM n GROUP BY k + 1;
-- 1 + k from n group by k + 1
-- on: spark
SELECT 1 + k FROM n GROUP BY k + 1;
-- k > 1 from n group by 1 < k
-- on: spark
SELECT k > 1 FROM n GROUP BY 1 < k;
-- k > 1, count(*) from n group by k > 1
SELECT k > 1, count(*) FROM n GROUP BY k > 1;
-- a.x from n a, n b where a.k = b.k and b.x > 10
SELECT a.x FROM n a, n b WHERE a.k = b.k AND b.x > 10;
-- * from n where k = 1 union all select * from n where k = 2
SELECT * FROM n WHERE k = 1 UNION ALL SELECT * FROM n WHERE k = 2;
-- with c as (select k from n), d as (select k from c where k > 1) select * from d
WITH c AS (SELECT k FROM n), d AS (SELECT k FROM c WHERE k > 1) SELECT * FROM d;
-- with n as (select 5 as k) select k from n
WITH n AS (SELECT 5 AS k) SELECT k FROM n;
-- with c as (select 1 as q) select (select q from c) from n
WITH c AS (SELECT 1 AS q) SELECT (SELECT q FROM c) FROM n;
-- * from (with c as (select 1 as q) select * from c)
SELECT * FROM (WITH c AS (SELECT 1 AS q) SELECT * FROM c);
-- k, row_number() over (order by x) as r from n order by r desc
SELECT k, row_number() OVER (ORDER BY x) AS r FROM n ORDER BY r DESC;
-- k, sum(x) over w, avg(x) over w from n window w as (order by x)
SELECT k, sum(x) OVER w, avg(x) OVER w FROM n WINDOW w AS (ORDER BY x);
-- k, sum(x) over (order by x) / sum(x) over () from n
SELECT k, sum(x) OVER (ORDER BY x) / sum(x) OVER () FROM n;
-- rank() over (partition by k % 2 order by x) from n
SELECT rank() OVER (PARTITION BY k % 2 ORDER BY x) FROM n;
-- lag(x, 1, -1) over (order by x) from n
SELECT lag(x, 1, -1) OVER (ORDER BY x) FROM n;
-- sum(count(*)) over () from n group by k
SELECT sum(count(*)) OVER () FROM n GROUP BY k;
-- max(max(x)) over () from n group by k
SELECT max(max(x)) OVER () FROM n GROUP BY k;
-- distinct sum(x) over () from n
SELECT DISTINCT sum(x) OVER () FROM n;
-- k from n where (k = 1 or k = 2) and not x = 10
SELECT k FROM n WHERE (k = 1 OR k = 2) AND NOT x = 10;
-- k between 1 and 2 or x = 40 from n
SELECT k BETWEEN 1 AND 2 OR x = 40 FROM n;
-- 1 < 2 < 3
-- on: spark
-- error
SELECT 1 < 2 < 3;
-- 2 = 2 = 2
-- on: spark
-- error
SELECT 2 = 2 = 2;
-- true = false = false
SELECT true = false = false;
-- 6 / 2 * 3, 6 * 2 / 3, 7 % 4 * 2, 2 * 7 % 4, 7 div 2 * 2
SELECT 6 / 2 * 3, 6 * 2 / 3, 7 % 4 * 2, 2 * 7 % 4, 7 DIV 2 * 2;
-- 10 - 2 - 3, 10 - (2 - 3), 2 + 3 * 4 - 1
SELECT 10 - 2 - 3, 10 - (2 - 3), 2 + 3 * 4 - 1;
-- -2 * -3, - 2 + 3, -k * 2, ~k + 1, ~k & 3 from n
SELECT -2 * -3, - 2 + 3, -k * 2, ~k + 1, ~k & 3 FROM n;
-- k | 1 = 1, k & 1 + 1, k ^ 1 & 1, k | 2 ^ 3 & 1 from n
SELECT k | 1 = 1, k & 1 + 1, k ^ 1 & 1, k | 2 ^ 3 & 1 FROM n;
-- 'a' || 'b' = 'ab', 'a' || k + 1 from n where k = 1
-- on: spark
-- error
SELECT 'a' || 'b' = 'ab', 'a' || k + 1 FROM n WHERE k = 1;
-- 'x' || 1 + 2
-- on: spark
-- error
SELECT 'x' || 1 + 2;
-- k is null or k > 1 and x < 40 from n
SELECT k IS NULL OR k > 1 AND x < 40 FROM n;
-- not k is null, not k > 1 or true from n
SELECT NOT k IS NULL, NOT k > 1 OR true FROM n;
-- k is not null and true, k = 1 is true, k <=> null from n
SELECT k IS NOT NULL AND true, k = 1 IS TRUE, k <=> NULL FROM n;
-- cast(k as string) || 'a' like '1%' from n
SELECT CAST(k AS STRING) || 'a' LIKE '1%' FROM n;
-- 5 between 1 and 3 + 4, 5 not between 6 and 7 and true
SELECT 5 BETWEEN 1 AND 3 + 4, 5 NOT BETWEEN 6 AND 7 AND true;
-- k in (1, 2) = true from n
-- on: spark
-- error
SELECT k IN (1, 2) = true FROM n;
-- 1 + 1 in (2), not 1 in (2)
SELECT 1 + 1 IN (2), NOT 1 IN (2);
-- case when k > 1 and x < 40 or k is null then 'a' end from n
SELECT CASE WHEN k > 1 AND x < 40 OR k IS NULL THEN 'a' END FROM n;
-- 3 > 2 and 2 > 1, 3 > 2 = true
SELECT 3 > 2 AND 2 > 1, 3 > 2 = true;
-- x[0] from (select array(1, 2) as x)
-- on: spark
SELECT x[0] FROM (SELECT array(1, 2) AS x);
-- s.a + 1 from (select named_struct('a', 1) as s)
-- on: spark
SELECT s.a + 1 FROM (SELECT named_struct('a', 1) AS s);
-- k from n where k = 1 or k = 2 and x = 99
SELECT k FROM n WHERE k = 1 OR k = 2 AND x = 99;
-- `k` from `n`
SELECT `k` FROM `n`;
-- `n`.`k` + 1 from n
SELECT `n`.`k` + 1 FROM n;
-- count(k), count(k), count(*) from n
SELECT count(k), COUNT(K), Count(*) FROM n;
-- sum(x), max(k) + min(x) from n
SELECT SUM(X), Max(k) + MIN(x) FROM n;
-- sum(x)/count(*) from n
SELECT sum(x)/count(*) FROM n;
-- if(k > 1, x, -x), case when k > 1 then x end from n
SELECT if(k > 1, x, -x), CASE WHEN k > 1 THEN x END FROM n;
-- nvl(k, 0), coalesce(k, x), nullif(k, 1), greatest(k, x), least(k, 2) from n
SELECT nvl(k, 0), coalesce(k, x), nullif(k, 1), greatest(k, x), least(k, 2) FROM n;
-- abs(-k), sign(k), sqrt(x), floor(x / 3), ceil(x / 3), round(x / 3, 1), x div 3 from n
SELECT abs(-k), sign(k), sqrt(x), floor(x / 3), ceil(x / 3), round(x / 3, 1), x DIV 3 FROM n;
-- length('abc'), upper('a'), 'a' || 'b', substring('abc', 2), substring('abc', 2, 1), trim(' a '), lpa
SELECT length('abc'), upper('a'), 'a' || 'b', substring('abc', 2), substring('abc', 2, 1), trim(' a '), lpad('a', 3, '*') FROM n WHERE k = 1;
-- year(since), month(since), day(since), since + 1, datediff(since, since) from owners
SELECT year(since), month(since), day(since), since + 1, datediff(since, since) FROM owners;
-- date_trunc('hour', at), hour(at), at + interval '1' hour, cast(at as date) from readings
SELECT date_trunc('HOUR', at), hour(at), at + INTERVAL '1' HOUR, CAST(at AS DATE) FROM readings;
-- date '2020-01-01', timestamp '2020-01-01 00:00:00', date '2020-01-01' + 1
SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', DATE '2020-01-01' + 1;
-- max(since), max(since) - min(since) from owners
-- on: spark
SELECT max(since), max(since) - min(since) FROM owners;
-- cast(since as string) from owners
SELECT CAST(since AS STRING) FROM owners;
-- cast(since + 1 as string), year(since + 1) from owners
-- on: spark
SELECT CAST(since + 1 AS STRING), year(since + 1) FROM owners;
-- a table's star beside using has the merged column first
SELECT p.*, o.* FROM posreports p JOIN owners o USING (vid) WHERE p.t < 40;
-- the other table's star
SELECT o.*, p.seg FROM (SELECT t, vid, seg FROM posreports WHERE t < 40) p RIGHT JOIN owners o USING (vid);
-- a star behind a full join
SELECT c.*, p.* FROM (SELECT t, seg FROM posreports WHERE t < 40) p FULL JOIN criticalsegs c USING (seg);
-- a star beside a natural join, with EXCEPT
SELECT p.* EXCEPT (t) FROM (SELECT t, seg, vid FROM posreports WHERE t < 100) p NATURAL JOIN criticalsegs;
-- a star behind a semi join
SELECT p.* FROM (SELECT t, lane, vid FROM posreports) p LEFT SEMI JOIN owners o USING (vid);
-- using behind a semi join
-- on: spark
SELECT t, name FROM (SELECT t, seg, vid FROM posreports) p LEFT SEMI JOIN owners USING (vid) JOIN criticalsegs USING (seg);
-- pivot of a cte
-- on: spark
WITH p AS (SELECT lane, seg, spd FROM posreports) SELECT * FROM p PIVOT (max(spd) FOR lane IN (0, 1));
-- pivot by two columns
-- on: spark
SELECT * FROM (SELECT lane, dir, spd FROM posreports) PIVOT (max(spd) AS m, count(*) AS n FOR (lane, dir) IN ((0, 0) AS a, (1, 0) AS b));
-- grouping(k) in having beside order by
-- on: spark
-- error
SELECT grouping(k) AS g FROM n GROUP BY CUBE (k, (k / k)) HAVING min(10) FILTER (WHERE FALSE) = grouping(k) ORDER BY g;
