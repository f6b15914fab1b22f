"""The Spark format `millpond`: tables and results of a pond as data frames, batch and streaming.

Spark looks for formats in installed packages whose names begin with `pyspark_`. It does so in every application that uses a
format written in Python, so this module loads nothing but PySpark until somebody names a pond. See docs/spark.md.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader


class DefaultSource(DataSource):
    """`spark.read.format("millpond").option("pond", folder).load(name)`, and the same for `readStream`, `write` and
    `writeStream`."""

    @classmethod
    def name(cls) -> str:
        return "millpond"

    def schema(self) -> str:
        from millpond.spark_format.options import Options
        from millpond.spark_format.relations import open_relation, spark_schema

        return spark_schema(open_relation(Options.of(self.options)).columns)

    def reader(self, schema: Any) -> DataSourceReader:
        from millpond.spark_format.batch import TableReader
        from millpond.spark_format.options import Options

        return TableReader(Options.of(self.options), schema)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        from millpond.spark_format.options import Options
        from millpond.spark_format.stream import RowsReader

        return RowsReader(Options.of(self.options), schema)

    def writer(self, schema: Any, overwrite: bool) -> Any:
        from millpond.spark_format.options import Options
        from millpond.spark_format.writing import TableWriter

        return TableWriter(Options.of(self.options), schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        from millpond.spark_format.options import Options
        from millpond.spark_format.writing import StreamWriter

        return StreamWriter(Options.of(self.options), schema, overwrite)
