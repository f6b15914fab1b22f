"""Joins with PostgreSQL: a stream of orders, and customers that live in a database.

Shows a standard table attached from PostgreSQL, in a one-time and in a continuous query. Continuous queries see the table
as it is when an instant is evaluated: Bert's new city is in the second answer.

Run it with a connection string; it makes a schema of its own there and drops it again:

    pip install '.[postgres]'
    python examples/postgres_join.py postgresql://user:password@localhost/postgres

It prints:

 name | amount
------+--------
 Ada  |     20
 Ada  |     25
 Bert |     30
(3 rows)
 city | amount | instant | _seq
------+--------+---------+------
 Bern |     45 |      60 |    0
 Oslo |     30 |      60 |    1
 Rome |     40 |     120 |    2
(3 rows)
"""

from __future__ import annotations

import sys
import tempfile

import psycopg

import millpond


def main(dsn: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as database,
        tempfile.TemporaryDirectory() as folder,
        millpond.connect(folder) as db,
    ):
        database.execute("CREATE SCHEMA millpond_example")
        try:
            database.execute("CREATE TABLE millpond_example.customers (id INT PRIMARY KEY, name TEXT, city TEXT)")
            database.execute("INSERT INTO millpond_example.customers VALUES (1, 'Ada', 'Bern'), (2, 'Bert', 'Oslo')")
            show(db, dsn, database)
        finally:
            database.execute("DROP SCHEMA millpond_example CASCADE")


def show(db: millpond.Pond, dsn: str, database: psycopg.Connection) -> None:
    db.sql(f"""
        CREATE STREAMING TABLE orders (customer INT, amount INT, t BIGINT) TIMESTAMP BY t;
        CREATE STANDARD TABLE customers FROM POSTGRES '{dsn}' TABLE 'millpond_example.customers';
        CREATE CONTINUOUS QUERY sales AS
          SELECT c.city, SUM(o.amount) AS amount FROM orders [INTERVAL '1' MINUTE] o JOIN customers c ON o.customer = c.id
          GROUP BY c.city ORDER BY c.city SAMPLE INTERVAL '1' MINUTE
    """)
    db.append("orders", [(1, 20, 10), (2, 30, 20), (1, 25, 50)])
    db.advance("orders", 61)
    db.tick()
    print(db.sql("SELECT c.name, o.amount FROM orders o JOIN customers c ON o.customer = c.id ORDER BY o.amount"))

    database.execute("UPDATE millpond_example.customers SET city = 'Rome' WHERE name = 'Bert'")
    db.append("orders", [(2, 40, 90)])
    db.advance("orders", 121)
    db.tick()
    print(db.resume("sales").fetch())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} <connection string>")
    main(sys.argv[1])
