"""The only place that creates Spark sessions and reads Spark's exceptions."""
