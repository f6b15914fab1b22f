"""Text to meaning: reading statements, resolving names, and saying a Spark SQL query in DuckDB's words."""
