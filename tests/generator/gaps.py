"""What generated statements avoid, each with its reason: gaps that are to be closed, and functions that cannot be compared."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.sql import spark_functions


@dataclass(frozen=True)
class Gaps:
    """Every field that is not at its best is a known difference."""

    unnamed: float = 0.0
    """How many columns have no alias. Names of unnamed columns are not yet Spark's."""
    merged: float = 0.0
    """How often a column of USING or NATURAL is named without its table. It is found ambiguous."""
    merged_qualified: bool = True
    """Whether such a column is named with its table."""
    merged_star: bool = False
    """Whether `*` stands over such columns. Behind a further join with ON it loses columns of other tables."""
    chained_using: bool = False
    """Whether there are several joins with USING. A chain of FULL JOIN USING gives other rows."""
    natural_of_several: bool = False
    """Whether a natural join may share a column with several tables before it. It then gives other rows."""
    bare: float = 0.0
    """How often an operation has no brackets. Precedence is not yet Spark's."""
    column_lists: float = 0.05
    """How often the columns of a table get other names."""
    values_alone: bool = False
    """Whether VALUES and TABLE may be statements of their own. They are refused."""
    sets_of_nothing: bool = False
    """Whether grouping sets may read no rows at all. They give a row, and Spark none."""


GAPS = Gaps()

_CHANCE = "Its answer is chance."
_CLOCK = "Its answer is the time of day."
_STRANGE = "It makes groups or windows of time, which are a pond's own business."
_BYTES = "A sketch is bytes, and reading it needs another; both sides get the same text."

NOT_GENERATED: dict[str, str] = {
    **dict.fromkeys(spark_functions._CHANCE, _CHANCE),
    **dict.fromkeys(spark_functions._CLOCK - {"unix_timestamp"}, _CLOCK),
    **dict.fromkeys(spark_functions._SKETCHES, _BYTES),
    "count_min_sketch": _BYTES,
    **dict.fromkeys(("session_window", "window", "window_time"), _STRANGE),
    "counter_diff": "It is a window function over times and counters of its own.",
    "raise_error": "It has no answer.",
    "time": "It is a type that millpond's tables do not have.",
}
for _name in ("bitmap_bit_position", "bitmap_bucket_number", "bitmap_construct_agg", "bitmap_count"):
    del NOT_GENERATED[_name]
