"""From an offer of rows to a table's door: convert, judge lateness, split by shard, append."""
