# the queries of Nexmark, as RisingWave and Flink run them: auctions, bids and people
skip cold-restart, no-index, one-shard, reader: other stories show it, and this one is long
> CREATE STREAMING TABLE person (id INT, name STRING, city STRING, state STRING, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE auction (id INT, item STRING, reserve INT, expires BIGINT, seller INT, category INT, t BIGINT) TIMESTAMP BY t
> CREATE STREAMING TABLE bid (auction INT, bidder INT, price INT, channel STRING, url STRING, t BIGINT) TIMESTAMP BY t
> CREATE TABLE side_input (key INT, value STRING)
> INSERT INTO side_input VALUES (1001, 'one'), (1002, 'two')
# q0, q1, q2: pass through, convert, filter
> CREATE CONTINUOUS QUERY q0 AS SELECT auction, bidder, price FROM bid [NOW] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY q1 AS SELECT auction, bidder, 0.908 * price AS euros FROM bid [NOW] SAMPLE REALTIME
> CREATE CONTINUOUS QUERY q2 AS SELECT auction, price FROM bid [NOW] WHERE auction = 1007 OR auction = 1020 OR MOD(auction, 123) = 17 SAMPLE REALTIME
# q3: people of some states who sell in category 10
> CREATE CONTINUOUS QUERY q3 AS SELECT ISTREAM p.name, p.city, p.state, a.id FROM auction [INTERVAL 1000] a JOIN person [INTERVAL 1000] p ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA') SAMPLE REALTIME
# q4: the average of the final prices of a category
> CREATE CONTINUOUS QUERY q4 AS SELECT category, AVG(final) AS average FROM (SELECT a.category, a.id, MAX(b.price) AS final FROM auction [INTERVAL 1000] a JOIN bid [INTERVAL 1000] b ON a.id = b.auction AND b.t BETWEEN a.t AND a.expires GROUP BY a.id, a.category) GROUP BY category SAMPLE INTERVAL 10
# q5: hot items: the auctions with most bids in each hopping window
> CREATE CONTINUOUS QUERY q5 AS SELECT auction, n FROM (SELECT auction, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM bid [INTERVAL 10] WHERE t < NOW() GROUP BY auction) WHERE place = 1 SAMPLE INTERVAL 2
# q7: the highest bid of each ten seconds
> CREATE CONTINUOUS QUERY q7 AS SELECT b.auction, b.price, b.bidder FROM bid [INTERVAL 10] b WHERE b.t < NOW() AND b.price = (SELECT MAX(price) FROM bid [INTERVAL 10] WHERE t < NOW()) SAMPLE INTERVAL 10
# q8: people who came and opened an auction within ten seconds
> CREATE CONTINUOUS QUERY q8 AS SELECT ISTREAM p.id, p.name FROM person [INTERVAL 10] p JOIN auction [INTERVAL 10] a ON p.id = a.seller SAMPLE REALTIME
# q9: the winning bid of each auction
> CREATE CONTINUOUS QUERY q9 AS SELECT id, bidder, price FROM (SELECT a.id, b.bidder, b.price, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.t ASC) AS place FROM auction [INTERVAL 1000] a JOIN bid [INTERVAL 1000] b ON a.id = b.auction AND b.t BETWEEN a.t AND a.expires) WHERE place = 1 SAMPLE INTERVAL 10
# q13: joined with a table beside
> CREATE CONTINUOUS QUERY q13 AS SELECT b.auction, b.bidder, s.value FROM bid [NOW] b JOIN side_input s ON b.auction = s.key SAMPLE REALTIME
# q14: calculate and filter
> CREATE CONTINUOUS QUERY q14 AS SELECT auction, bidder, CASE WHEN price > 100 THEN 'high' WHEN price BETWEEN 50 AND 100 THEN 'middle' ELSE 'low' END AS kind, length(replace(url, 'c', 'cc')) - length(url) AS cs FROM bid [NOW] WHERE 0.908 * price > 10 SAMPLE REALTIME
# q15, q16, q17: statistics of bids, with filters, by day, channel and auction
> CREATE CONTINUOUS QUERY q15 AS SELECT COUNT(*) AS bids, COUNT(*) FILTER (WHERE price < 50) AS low, COUNT(DISTINCT bidder) AS bidders, COUNT(DISTINCT bidder) FILTER (WHERE price >= 50) AS rich FROM bid [LANDMARK DAY] SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY q16 AS SELECT channel, MAX(t) AS newest, COUNT(*) AS bids, COUNT(DISTINCT auction) AS auctions FROM bid [LANDMARK DAY] GROUP BY channel SAMPLE INTERVAL 10
> CREATE CONTINUOUS QUERY q17 AS SELECT auction, COUNT(*) AS n, MIN(price) AS lowest, MAX(price) AS highest, AVG(price) AS average, SUM(price) AS total FROM bid [LANDMARK DAY] GROUP BY auction SAMPLE INTERVAL 10
# q18: the last bid of each bidder in each auction
> CREATE CONTINUOUS QUERY q18 AS SELECT auction, bidder, price FROM bid [auction, bidder ROWS 1] SAMPLE INTERVAL 10
# q19: the ten highest bids of each auction
> CREATE CONTINUOUS QUERY q19 AS SELECT auction, price, place FROM (SELECT auction, price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid [INTERVAL 1000]) WHERE place <= 2 SAMPLE INTERVAL 10
# q20: bids with the auctions of a category
> CREATE CONTINUOUS QUERY q20 AS SELECT b.auction, b.price, a.item FROM bid [NOW] b JOIN auction [id ROWS 1] a ON b.auction = a.id WHERE a.category = 10 SAMPLE REALTIME
# q22: parts of a text; q21 is in a story of its own
> CREATE CONTINUOUS QUERY q22 AS SELECT auction, split(url, '/')[3] AS dir1, split(url, '/')[4] AS dir2 FROM bid [NOW] SAMPLE REALTIME
feed person
1 | Ann | Boise | ID | 1
2 | Bob | Paris | FR | 2
feed auction
1001 | vase | 10 | 9 | 1 | 10 | 3
1002 | lamp | 10 | 30 | 2 | 11 | 4
feed bid
1001 | 7 | 20 | apple | https://m.com/item/one/x | 4
1001 | 8 | 60 | google | https://m.com/item/one/y | 5
1002 | 7 | 120 | other | https://m.com/cat/two&channel_id=c3 | 6
1001 | 7 | 90 | apple | https://m.com/item/one/z | 9
1001 | 8 | 200 | apple | https://m.com/item/one/z | 12
advance person 20
advance auction 20
advance bid 20
tick
changes~ q0
+ 4 | 1001 | 7 | 20
+ 5 | 1001 | 8 | 60
+ 6 | 1002 | 7 | 120
+ 9 | 1001 | 7 | 90
+ 12 | 1001 | 8 | 200

changes~ q1
+ 4 | 1001 | 7 | 18.160
+ 5 | 1001 | 8 | 54.480
+ 6 | 1002 | 7 | 108.960
+ 9 | 1001 | 7 | 81.720
+ 12 | 1001 | 8 | 181.600

changes~ q2
+ 4 | 1001 | 20
+ 5 | 1001 | 60
+ 9 | 1001 | 90
+ 12 | 1001 | 200

changes~ q3
+ 3 | Ann | Boise | ID | 1001

changes~ q4
+ 10 | 10 | 90.0
+ 10 | 11 | 120.0

changes~ q5
+ 6 | 1001 | 2
+ 8 | 1001 | 2
+ 10 | 1001 | 3
+ 12 | 1001 | 3
+ 14 | 1001 | 4
+ 16 | 1001 | 2
+ 18 | 1001 | 2

changes~ q7
+ 10 | 1002 | 120 | 7

changes~ q8
+ 3 | 1 | Ann
+ 4 | 2 | Bob

changes~ q9
+ 10 | 1002 | 7 | 120
+ 10 | 1001 | 7 | 90

changes~ q13
+ 4 | 1001 | 7 | one
+ 5 | 1001 | 8 | one
+ 6 | 1002 | 7 | two
+ 9 | 1001 | 7 | one
+ 12 | 1001 | 8 | one

changes~ q14
+ 4 | 1001 | 7 | low | 1
+ 5 | 1001 | 8 | middle | 1
+ 6 | 1002 | 7 | high | 4
+ 9 | 1001 | 7 | middle | 1
+ 12 | 1001 | 8 | high | 1

changes~ q15
+ 10 | 4 | 1 | 2 | 2

changes~ q16
+ 10 | google | 5 | 1 | 1
+ 10 | other | 6 | 1 | 1
+ 10 | apple | 9 | 2 | 1

changes~ q17
+ 10 | 1001 | 3 | 20 | 90 | 56.666666666666664 | 170
+ 10 | 1002 | 1 | 120 | 120 | 120.0 | 120

changes~ q18
+ 10 | 1001 | 7 | 90
+ 10 | 1002 | 7 | 120
+ 10 | 1001 | 8 | 60

changes~ q19
+ 10 | 1002 | 120 | 1
+ 10 | 1001 | 90 | 1
+ 10 | 1001 | 60 | 2

changes~ q20
+ 4 | 1001 | 20 | vase
+ 5 | 1001 | 60 | vase
+ 9 | 1001 | 90 | vase
+ 12 | 1001 | 200 | vase

changes~ q22
+ 4 | 1001 | item | one
+ 5 | 1001 | item | one
+ 6 | 1002 | cat | two&channel_id=c3
+ 9 | 1001 | item | one
+ 12 | 1001 | item | one

# q11: how many bids each made in a session; q12: in tumbling windows. The windows say when: there is no SAMPLE
> CREATE CONTINUOUS QUERY q11 FROM 0 AS SELECT bidder, COUNT(*) AS bids, session_window.start AS begins, session_window.end AS ends FROM bid GROUP BY bidder, session_window(t, '3 seconds')
> CREATE CONTINUOUS QUERY q12 FROM 0 AS SELECT bidder, COUNT(*) AS bids, window.start AS begins FROM bid GROUP BY bidder, window(t, '10 seconds')
tick
changes~ q11
+ 8 | 8 | 1 | 5 | 8
+ 12 | 7 | 3 | 4 | 12
+ 15 | 8 | 1 | 12 | 15

changes~ q12
+ 10 | 7 | 3 | 0
+ 10 | 8 | 1 | 0
+ 20 | 8 | 1 | 10

