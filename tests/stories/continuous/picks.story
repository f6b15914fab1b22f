# aggregates that depend on the order of rows see them in the order of time and arrival
> CREATE STREAMING TABLE s (k INT, v INT, w STRING, p DECIMAL(8, 2), t BIGINT) TIMESTAMP BY t
> CREATE CONTINUOUS QUERY picks AS
      SELECT k, first(v) AS a, last(v) AS b, last(v) IGNORE NULLS AS c, any_value(w) AS d, max_by(w, v) AS e,
             min_by(w, v) AS f, listagg(w, '-') AS g
      FROM s [INTERVAL 10] GROUP BY k SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY middle AS
      SELECT median(v) AS m, percentile(v, 0.25) AS q, percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC) AS d,
             percentile_approx(v, 0.5) AS x, mode(v) AS o, avg(p) AS mean
      FROM s [INTERVAL 10] SAMPLE INTERVAL 10
feed s
1 | 5 | x | 1.00 | 1
1 | 7 | b | 2.00 | 2
1 | 7 | a | 2.00 | 2
1 | NULL | c | NULL | 9
2 | 5 | y | 0.33 | 9
advance s 11
tick
changes~ picks
+ 10 | 1 | 5 | NULL | 7 | x | a | x | x-b-a-c
+ 10 | 2 | 5 | 5 | 5 | y | y | y | y
changes~ middle
+ 10 | 6.0 | 5.0 | 7.0 | 5 | 5 | 1.332500
? SELECT first(v) AS a, last(v) AS b, max_by(w, v) AS c, listagg(w, '-') AS d FROM s WHERE k = 1
5 | NULL | a | x-b-a-c
