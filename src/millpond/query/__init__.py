"""Asking once: resolving a query against the catalog, deciding what to read and where, and reading it."""
