"""Predicates on one row: one inspectable form, its normal form, and its evaluation over arrays."""
