"""What windows hold, as arrays: rows by key, neighbours, arrivals, predicates over columns."""
