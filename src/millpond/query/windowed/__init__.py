"""Reductions by windows: aggregates of windows that are kept, and read in place of a table's rows."""
