# names are the same in any case; an answer is named as it was asked
> CREATE STREAMING TABLE Reports (Vid INT, T BIGINT) TIMESTAMP BY t
feed REPORTS
1 | 1
? SELECT VID, vid + 1, count(*) AS N FROM RePorts GROUP BY VID
: VID | (vid + 1) | N
1 | 2 | 1

? SELECT Reports.Vid FROM reports
: Vid
1

? SELECT r.* FROM reports AS r
: vid | t
1 | 1
