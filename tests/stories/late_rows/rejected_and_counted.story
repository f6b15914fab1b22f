# a row within the allowed lateness still counts; a later one is rejected, and counted as rejected
> CREATE STREAMING TABLE r (t BIGINT, car INT, speed INT) TIMESTAMP BY t LATENESS INTERVAL '10' SECOND
feed r
100 | 1 | 50
108 | 2 | 70
98 | 3 | 60
115 | 2 | 80
now r
105

feed r
105 | 4 | 90
104 | 4 | 90
? SELECT t, car FROM r ORDER BY t
98 | 3
100 | 1
105 | 4
108 | 2
115 | 2

? SELECT reason, source, row FROM r_rejected
late: t = 104 is before 105 | append | {"t": 104, "car": 4, "speed": 90}

? SHOW REJECTED
: name | late | ahead | malformed
r | 1 | 0 | 0
