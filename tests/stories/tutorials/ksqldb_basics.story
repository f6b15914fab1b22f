# what ksqlDB's tutorials ask of single streams: filter, convert, concatenate, latest value, running aggregates, alerts
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE riders (profile STRING, latitude DOUBLE, longitude DOUBLE, t BIGINT) TIMESTAMP BY t
# CREATE TABLE currentLocation AS SELECT profileId, LATEST_BY_OFFSET(latitude) AS la, ... GROUP BY profileId EMIT CHANGES
> CREATE CONTINUOUS QUERY current_location AS
   SELECT ISTREAM profile, latitude AS la, longitude AS lo FROM riders [profile ROWS 1] SAMPLE REALTIME
# SELECT * FROM riderLocations WHERE GEO_DISTANCE(latitude, longitude, 37.4133, -122.1162) <= 5 EMIT CHANGES
> CREATE CONTINUOUS QUERY near_mountain_view AS
   SELECT profile FROM riders [NOW]
   WHERE sqrt(((latitude - 37.4133) * 111.2) * ((latitude - 37.4133) * 111.2) + ((longitude + 122.1162) * 88.3) * ((longitude + 122.1162) * 88.3)) <= 5 SAMPLE REALTIME
# SELECT ROUND(GEO_DISTANCE(la, lo, ...), -1) AS distanceInMiles, COLLECT_LIST(profileId) AS riders, COUNT(*) AS count FROM currentLocation GROUP BY ...
> CREATE CONTINUOUS QUERY riders_by_distance AS
   SELECT CAST(floor(abs(latitude - 37.4133) * 111.2 / 10) AS INT) * 10 AS distance, array_join(array_sort(collect_list(profile)), ',') AS who, COUNT(*) AS n
   FROM riders [profile ROWS 1] GROUP BY 1 SAMPLE INTERVAL 10
feed riders
anna | 37.7877 | -122.4205 | 1
bert | 37.3903 | -122.0643 | 2
carl | 37.3952 | -122.0813 | 3
anna | 37.4049 | -122.0822 | 5
dora | 37.7857 | -122.4011 | 6
advance riders 11
tick
changes current_location
+ 1 | anna | 37.7877 | -122.4205
+ 2 | bert | 37.3903 | -122.0643
+ 3 | carl | 37.3952 | -122.0813
+ 5 | anna | 37.4049 | -122.0822
+ 6 | dora | 37.7857 | -122.4011

changes near_mountain_view
+ 3 | carl
+ 5 | anna

changes~ riders_by_distance
+ 10 | 0 | anna,bert,carl | 3
+ 10 | 40 | dora | 1

> CREATE STREAMING TABLE movies (id INT, title STRING, genre STRING, release_year INT, rating DOUBLE, t BIGINT) TIMESTAMP BY t
# CREATE STREAM movies_filtered AS SELECT ... WHERE release_year < 2000
> CREATE CONTINUOUS QUERY old_movies AS SELECT id, title FROM movies [NOW] WHERE release_year < 2000 SAMPLE REALTIME
# SELECT id, SPLIT(title, '::')[1] AS title, CAST(SPLIT(title, '::')[2] AS INT) AS year
> CREATE CONTINUOUS QUERY split_titles AS SELECT id, split(title, '::')[0] AS name, CAST(split(title, '::')[1] AS INT) AS year FROM movies [NOW] WHERE title LIKE '%::%' SAMPLE REALTIME
# SELECT title, AVG(rating), COUNT(*) ... GROUP BY title EMIT CHANGES
> CREATE CONTINUOUS QUERY ratings AS SELECT ISTREAM title, SUM(rating) / COUNT(rating) AS average, COUNT(*) AS n, MIN(release_year) AS first_year, MAX(release_year) AS last_year FROM movies [UNBOUNDED] GROUP BY title SAMPLE REALTIME
# SELECT genre, COLLECT_SET(title) ... GROUP BY genre
> CREATE CONTINUOUS QUERY titles AS SELECT genre, array_join(array_sort(collect_set(title)), ', ') AS titles FROM movies [INTERVAL 100] GROUP BY genre SAMPLE INTERVAL 10
# SELECT CONCAT(title, ' (', release_year, ')'), UCASE(genre), CASE WHEN rating > 8 THEN 'good' WHEN rating > 5 THEN 'fair' ELSE 'poor' END
> CREATE CONTINUOUS QUERY labels AS SELECT concat(title, ' (', release_year, ')') AS label, ucase(genre) AS genre, CASE WHEN rating > 8 THEN 'good' WHEN rating > 5 THEN 'fair' ELSE 'poor' END AS judged FROM movies [NOW] SAMPLE REALTIME
# INSERT INTO ... SELECT ... UNION of two streams (merge)
> CREATE CONTINUOUS QUERY merged AS SELECT title, 'rock' AS kind FROM movies [NOW] WHERE genre = 'rock' UNION ALL SELECT title, 'other' FROM movies [NOW] WHERE genre <> 'rock' SAMPLE REALTIME
feed movies
1 | Alien | horror | 1979 | 8.5 | 1
2 | Die Hard::1988 | action | 1988 | 8.25 | 2
3 | Stand | rock | 2004 | 4.5 | 5
1 | Alien | horror | 1979 | 9.5 | 7
advance movies 11
tick
changes old_movies
+ 1 | 1 | Alien
+ 2 | 2 | Die Hard::1988
+ 7 | 1 | Alien

changes split_titles
+ 2 | 2 | Die Hard | 1988

changes ratings
+ 1 | Alien | 8.5 | 1 | 1979 | 1979
+ 2 | Die Hard::1988 | 8.25 | 1 | 1988 | 1988
+ 5 | Stand | 4.5 | 1 | 2004 | 2004
+ 7 | Alien | 9.0 | 2 | 1979 | 1979

changes~ titles
+ 10 | horror | Alien
+ 10 | action | Die Hard::1988
+ 10 | rock | Stand

changes labels
+ 1 | Alien (1979) | HORROR | good
+ 2 | Die Hard::1988 (1988) | ACTION | good
+ 5 | Stand (2004) | ROCK | poor
+ 7 | Alien (1979) | HORROR | good

changes~ merged
+ 1 | Alien | other
+ 2 | Die Hard::1988 | other
+ 5 | Stand | rock
+ 7 | Alien | other

> CREATE STREAMING TABLE transactions (card STRING, amount DOUBLE, merchant STRING, t TIMESTAMP) TIMESTAMP BY t
# possible_fraud: SELECT card_number, COUNT(*) ... WINDOW TUMBLING (SIZE 30 SECONDS) GROUP BY card_number HAVING COUNT(*) > 2 EMIT CHANGES
> CREATE CONTINUOUS QUERY possible_fraud AS
   SELECT card, window.start AS begins, window.end AS ends, COUNT(*) AS attempts, SUM(amount) AS total FROM transactions
   GROUP BY card, window(t, '30 seconds') HAVING COUNT(*) > 2
# anomalies joined with the average so far: SELECT ... WHERE amount > 2 * average
> CREATE CONTINUOUS QUERY unusual AS
   SELECT a.card, a.amount, b.average FROM transactions [NOW] a
   JOIN (SELECT card, AVG(amount) AS average FROM transactions [INTERVAL '1' HOUR] GROUP BY card) b ON a.card = b.card
   WHERE a.amount > 2 * b.average SAMPLE REALTIME
# first purchase of each card: EARLIEST_BY_OFFSET
> CREATE CONTINUOUS QUERY first_purchase AS
   SELECT ISTREAM card, min_by(merchant, t) AS merchant FROM transactions [INTERVAL '1' DAY] GROUP BY card SAMPLE REALTIME
# repeated purchase: same card, other merchant, within ten minutes
> CREATE CONTINUOUS QUERY elsewhere AS
   SELECT ISTREAM card, PREV(merchant) AS first, merchant AS then FROM transactions [card ROWS 2]
   WHERE merchant <> PREV(merchant) AND t <= PREV(t) + INTERVAL '10' MINUTE SAMPLE REALTIME
feed transactions
a | 10.0 | grocer | 2026-01-01 00:00:00
a | 20.0 | grocer | 2026-01-01 00:00:10
b | 5.0 | baker | 2026-01-01 00:00:12
a | 150.0 | jeweller | 2026-01-01 00:00:29
a | 10.0 | grocer | 2026-01-01 00:00:30
advance transactions 2026-01-01 00:02:00
tick
changes possible_fraud
+ 2026-01-01 00:00:30 | a | 2026-01-01 00:00:00 | 2026-01-01 00:00:30 | 3 | 180.0

changes unusual
+ 2026-01-01 00:00:29 | a | 150.0 | 60.0

changes first_purchase
+ 2026-01-01 00:00:00 | a | grocer
+ 2026-01-01 00:00:12 | b | baker

changes elsewhere
+ 2026-01-01 00:00:29 | a | grocer | jeweller
+ 2026-01-01 00:00:30 | a | jeweller | grocer

