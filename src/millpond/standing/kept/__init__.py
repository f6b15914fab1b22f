"""What is kept in memory for standing queries: recent rows, matches, trees of aggregates, tuples of joins.

Plain data structures, without SQL and without an engine. Each has one writer. A reader takes its `snapshot`, an immutable value,
and asks that: what is written later does not change it.
"""
