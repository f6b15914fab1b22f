"""Watch lists: clients register what they are interested in, go away, and come back for what is true then.

A hundred clients watch a symbol each for prices under a limit of their own. Trades flow in while nobody is connected. Two of
the clients come back: one asks for the current answer, the other for what changed since its last visit, from another process
as it were: all it kept are the number of its query and a text.

It prints:

registered 100 watch lists
client 7, who watches S07 below 37.0:
 price | t
-------+---
 34.75 | 7
(1 row; trades as of 299 after 300 rows)
client 12 comes back:
 _change | price |   t
---------+-------+-----
 -       |  11.0 | 212
 -       |  41.0 |  12
 +       |  26.0 | 512
 +       |  21.0 | 412
 +       |  16.0 | 312
(5 rows; trades as of 599 after 600 rows)
"""

from __future__ import annotations

import tempfile

import millpond

SYMBOLS = [f"S{n:02}" for n in range(100)]


def trades(first: int, count: int) -> list[tuple[str, float, int]]:
    """One trade a second, of one symbol after the other."""
    return [(SYMBOLS[t % 100], 10 + (t * 37 % 160) / 4, t) for t in range(first, first + count)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, millpond.connect(folder) as db:
        db.sql("CREATE STREAMING TABLE trades (symbol STRING, price DOUBLE, t BIGINT) TIMESTAMP BY t")
        watching = db.register_many(
            "SELECT price, t FROM trades WHERE symbol = ? AND price < ? BEGIN NOW - INTERVAL '5' MINUTE END NOW",
            [(symbol, 30.0 + n) for n, symbol in enumerate(SYMBOLS)],
        )
        print(f"registered {len(watching)} watch lists")

        db.append("trades", trades(0, 300))
        print("client 7, who watches S07 below 37.0:")
        print(watching[7].invoke())
        number, visit = watching[12].id, watching[12].invoke().visit

        db.append("trades", trades(300, 300))
        print("client 12 comes back:")
        print(db.registered(number).changes(since=visit))


if __name__ == "__main__":
    main()
