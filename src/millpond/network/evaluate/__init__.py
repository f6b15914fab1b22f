"""Evaluating continuous queries in one process."""
