"""Data frames of Spark that a user offers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millpond.errors import EngineError, LimitExceeded
from millpond.spark.session import spark_message, took_too_much


def is_frame(rows: Any) -> bool:
    """Whether rows are a data frame of Spark. Nothing of PySpark is loaded to find that out."""
    return type(rows).__module__.split(".")[0] == "pyspark" and hasattr(rows, "toArrow")


def collected(frame: Any) -> pa.Table:
    """The rows of a data frame, in this process."""
    try:
        return frame.toArrow()
    except Exception as error:
        if took_too_much(error):
            raise LimitExceeded(
                "the rows of the data frame take more memory than Spark has",
                setting="spark_memory",
                hint='Write them from where they are: frame.write.format("millpond"), see docs/spark.md.',
            ) from error
        if type(error).__module__.startswith(("pyspark", "py4j")):
            raise EngineError("the data frame cannot be read", detail=f"Spark says: {spark_message(error)}") from error
        raise
