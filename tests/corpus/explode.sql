-- a row for each part
SELECT x, explode(split(x, ',')) AS y FROM VALUES ('a,b'), (',b,,'), ('a'), (CAST(NULL AS STRING)) AS t(x);
-- parts in order
SELECT vid, explode(split(owner, 'a')) AS part FROM owners WHERE vid > 100 ORDER BY vid, part LIMIT 5;
-- a lateral view
SELECT x, y FROM VALUES ('a,b'), (',b,,'), ('a'), (CAST(NULL AS STRING)) AS t(x) LATERAL VIEW explode(split(x, ',')) e AS y;
-- an outer lateral view
SELECT x, y FROM VALUES ('a,b'), ('a'), (CAST(NULL AS STRING)) AS t(x) LATERAL VIEW OUTER explode(split(x, ',')) e AS y WHERE y IS NULL OR y > 'a';
-- groups of a lateral view
SELECT y, count(*) AS n FROM owners LATERAL VIEW explode(split(owner, 'a')) e AS y GROUP BY y;
-- lateral views of lateral views
SELECT p.vid, e.w, f.z FROM posreports p JOIN owners o ON o.vid = p.vid LATERAL VIEW explode(split(o.owner, 'a')) e AS w LATERAL VIEW explode(split(e.w, 'd')) f AS z;
-- explode of groups
-- on: spark
SELECT count(*) AS n, explode(split(owner, 'a')) AS y FROM owners GROUP BY owner;
-- a lateral view without a name
-- on: spark
SELECT vid, col FROM owners LATERAL VIEW explode(split(owner, 'a')) e;
-- places of parts
-- on: spark
SELECT vid, p, y FROM owners LATERAL VIEW posexplode(split(owner, 'a')) e AS p, y;
