"""Aggregates kept as numbers or synopses for each group instead of rows."""
