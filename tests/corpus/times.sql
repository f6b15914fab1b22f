-- parts of a timestamp
SELECT year(at) AS a, month(at) AS b, day(at) AS c, hour(at) AS d, minute(at) AS e, second(at) AS f, quarter(at) AS g FROM readings;
-- parts of a date
SELECT year(day) AS a, month(day) AS b, dayofmonth(day) AS c, dayofyear(day) AS d, dayofweek(day) AS e, weekday(day) AS f, weekofyear(day) AS g, quarter(day) AS h FROM readings;
-- extract
SELECT extract(YEAR FROM at) AS a, extract(HOUR FROM at) AS b, extract(DOW FROM day) AS c, extract(DOY FROM day) AS d, extract(WEEK FROM day) AS e, extract(MINUTE FROM at) AS f FROM readings;
-- extract seconds
-- on: spark
SELECT extract(SECOND FROM at) AS a FROM readings;
-- add days
SELECT date_add(day, 3) AS a, date_sub(day, 30) AS b, day + 1 AS c, day - 1 AS d, date_add(day, seg) AS e FROM readings, criticalsegs;
-- days between
SELECT datediff(day, DATE '2024-01-01') AS a, datediff(at, day) AS b, date_diff(day, '2024-02-29') AS c FROM readings;
-- add months
SELECT add_months(day, 1) AS a, add_months(day, -13) AS b, add_months(DATE '2024-01-31', 1) AS c, add_months(since, 12) AS d FROM readings, owners WHERE vid < 103;
-- dates and intervals
SELECT day + INTERVAL '1' DAY AS a, day - INTERVAL '2' MONTH AS b, day + INTERVAL '1' YEAR AS c, day + INTERVAL 3 WEEKS AS d FROM readings;
-- dates and hours
SELECT day + INTERVAL '5' HOUR AS a, day - INTERVAL 90 MINUTES AS b FROM readings;
-- timestamps and intervals
SELECT at + INTERVAL '5' MINUTE AS a, at - INTERVAL '1' DAY AS b, at + INTERVAL 30 SECONDS AS c, at - INTERVAL '1' MONTH AS d, INTERVAL 1 HOUR + at AS e FROM readings;
-- an interval of several units
-- on: spark
SELECT at + INTERVAL '1 day 2 hours' AS a FROM readings;
-- truncated timestamps
SELECT date_trunc('YEAR', at) AS a, date_trunc('MONTH', at) AS b, date_trunc('WEEK', at) AS c, date_trunc('DAY', at) AS d, date_trunc('HOUR', at) AS e, date_trunc('MINUTE', at) AS f, date_trunc('SECOND', at) AS g, date_trunc('QUARTER', at) AS h FROM readings;
-- truncated dates
SELECT trunc(day, 'MM') AS a, trunc(day, 'YEAR') AS b, trunc(day, 'WEEK') AS c, trunc(day, 'QUARTER') AS d, date_trunc('MONTH', day) AS e FROM readings;
-- last day and made dates
SELECT last_day(day) AS a, make_date(2024, 2, 29) AS b, make_date(year(day), 1, 1) AS c, to_date(at) AS d FROM readings;
-- an impossible date
-- error
SELECT make_date(2023, 2, 28 + seg) AS a FROM criticalsegs;
-- seconds to timestamps
SELECT timestamp_seconds(t) AS a FROM posreports;
-- windows of a minute
SELECT date_trunc('HOUR', at) AS hour, count(*) AS c FROM readings GROUP BY date_trunc('HOUR', at);
-- extremes of times
SELECT min(at) AS a, max(at) AS b, min(day) AS c, max(day) AS d FROM readings;
-- difference of timestamps
-- on: spark
SELECT at - TIMESTAMP '2024-01-01 00:00:00' AS a FROM readings;
-- the clock
-- on: spark
SELECT count(*) AS c FROM readings WHERE at > current_timestamp();
-- seconds before 1970: a cast rounds down, unix_timestamp towards zero
SELECT CAST(TIMESTAMP '1969-12-31 23:59:58.5' AS BIGINT) AS a, unix_timestamp(TIMESTAMP '1969-12-31 23:59:58.5') AS b, unix_timestamp(TIMESTAMP '1969-12-31 23:59:59.5') AS c;
-- seconds of a time whose microseconds no DOUBLE holds
SELECT CAST(TIMESTAMP '9999-12-31 23:59:59.999999' AS BIGINT) AS a, unix_timestamp(TIMESTAMP '9999-12-31 23:59:59.999999') AS b;
-- times of another zone
-- on: spark
SELECT from_utc_timestamp(at, 'Asia/Tokyo') AS a, to_utc_timestamp(at, 'America/New_York') AS b FROM readings;
-- days beyond the end of time go round
-- on: spark
SELECT date_add(day, 2147483647) AS a FROM readings;
-- a column of days
SELECT date_add(day, seg) AS a, day - seg AS b FROM readings, criticalsegs;
-- a column of very many days
-- on: spark
SELECT date_add(day, CAST(n % 2147483648 AS INT)) AS a FROM readings WHERE n > 12;
-- formats
SELECT at, date_format(at, 'yyyy-MM-dd HH:mm:ss') AS a, date_format(at, 'yy/M/d H:m:s') AS b, date_format(at, 'EEE, dd MMM yyyy') AS c, date_format(at, 'EEEE d MMMM') AS d, date_format(at, "yyyy-MM-dd'T'HH:mm:ss.SSS") AS e, date_format(at, 'hh:mm a') AS f, date_format(at, 'HH:mm:ss.SSSSSS') AS g, date_format(at, 'h a') AS h, date_format(at, 'DDD') AS i, date_format(at, 'yyyyMMdd') AS j, date_format(at, 'E') AS k FROM readings;
-- formats of days
SELECT day, date_format(day, 'yyyy-MM') AS a, date_format(day, 'dd.MM.yyyy HH:mm') AS b, count(*) AS c FROM readings GROUP BY day;
-- formats of times long ago
-- on: spark
SELECT date_format(x, 'yyyy-MM') AS a FROM VALUES (DATE '0999-01-01'), (DATE '2024-01-01') AS t(x);
-- formats in other letters
-- on: spark
SELECT date_format(at, 'yyyy-MM-dd G') AS a, date_format(at, 'SS') AS b FROM readings;
