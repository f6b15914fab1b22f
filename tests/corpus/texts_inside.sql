-- parts of a split
SELECT split(x, ',')[0] AS a, split(x, ',')[1] AS b, element_at(split(x, ','), 2) AS c, size(split(x, ',')) AS d FROM VALUES ('a,b'), (',b,,'), ('a,'), (CAST(NULL AS STRING)) AS t(x);
-- a split by other texts
SELECT split(sensor, '1')[0] AS a, size(split(sensor, 'l')) AS b, cardinality(split(sensor, 'é')) AS c, split(sensor, ' ')[0] AS d, split(sensor, '%')[0] AS e FROM readings;
-- a split by a text that has a meaning in patterns
SELECT split(x, '\\.')[0] AS a, split(x, '\\|')[0] AS b, size(split(x, '::')) AS c FROM VALUES ('a.b|c::d'), (''), ('.'), ('|'), ('::') AS t(x);
-- a split by a pattern
-- on: spark
SELECT split(x, '[,;]')[0] AS a FROM VALUES ('a;b') AS t(x);
-- a split with a limit
-- on: spark
SELECT split(x, ',', 2)[1] AS a FROM VALUES ('a,b,c') AS t(x);
-- an array as a column
-- on: spark
SELECT split(x, ',') AS a FROM VALUES ('a,b,c') AS t(x);
-- an element that is not there
-- error
SELECT split(x, ',')[3] AS a FROM VALUES ('a,b,c') AS t(x);
-- an element that is not there by its number
-- error
SELECT element_at(split(x, ','), 4) AS a FROM VALUES ('a,b,c') AS t(x);
-- parts
SELECT split_part(x, ',', 1) AS a, split_part(x, ',', 2) AS b, split_part(x, ',', -1) AS c, split_part(x, ',', 9) AS d, split_part(x, 'bb', 1) AS e FROM VALUES ('a,b'), (',b,,'), ('a,'), (''), (CAST(NULL AS STRING)), ('abbc') AS t(x);
-- arrays searched and joined
SELECT array_contains(split(x, ','), 'b') AS a, array_join(split(x, ','), '-') AS b, array_join(sort_array(split(x, ',')), ',') AS c, array_join(array_sort(split(x, ',')), ',') AS d FROM VALUES ('b,a'), (',b,,'), ('x,é,Z'), (''), (CAST(NULL AS STRING)) AS t(x);
-- collected in groups
SELECT vid, size(collect_list(spd)) AS a, size(collect_set(spd)) AS b, size(array_agg(lane)) AS c, array_contains(collect_list(lane), 3) AS d FROM posreports GROUP BY vid;
-- collected and joined
SELECT flag, array_join(sort_array(collect_set(sensor)), ',') AS a, array_join(sort_array(collect_list(sensor)), ',') AS b, size(collect_list(DISTINCT day)) AS c FROM readings GROUP BY flag;
-- collected of no rows
SELECT size(collect_list(spd)) AS a, size(collect_set(spd)) AS b, array_join(collect_list(CAST(spd AS STRING)), ',') AS c FROM posreports WHERE vid < 0;
-- collected of some rows
SELECT seg, size(collect_list(spd) FILTER (WHERE lane = 1)) AS a, size(collect_set(lane) FILTER (WHERE spd > 50)) AS b FROM posreports GROUP BY seg;
-- digests
SELECT sensor, md5(sensor) AS a, sha(sensor) AS b, sha1(sensor) AS c, sha2(sensor, 256) AS d, sha2(sensor, 0) AS e FROM readings;
-- other digests
-- on: spark
SELECT crc32(sensor) AS a, sha2(sensor, 512) AS b FROM readings;
-- values in json
SELECT get_json_object(x, '$.a') AS a, get_json_object(x, '$.b.c') AS b, get_json_object(x, '$.d') AS d FROM VALUES ('{"a": 1, "b": {"c": "x\\ty"}}'), ('{"a": "é", "b": {"c": ""}, "d": true}'), ('{"a": null, "b": {}}'), ('{}'), ('{"a": -12.5, "b": {"c": 0.125}, "d": false}'), ('{"a": 123456789012345, "b": {"c": 0}, "d": "{}"}'), (CAST(NULL AS STRING)) AS t(x);
-- objects in json
-- on: spark
SELECT get_json_object(x, '$.a') AS a FROM VALUES ('{"a": {"b": 1}}'), ('{"a": [1]}'), ('{"a": 1e5}'), ('{"a": 1.50}'), ('nothing'), ('[{"a": 1}]') AS t(x);
-- elements in json
-- on: spark
SELECT get_json_object(x, '$.a[0]') AS a FROM VALUES ('{"a": [1]}') AS t(x);
