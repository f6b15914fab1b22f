"""Functions that generated statements do not call, each with its reason."""

from __future__ import annotations

from millpond.sql import spark_functions

_CHANCE = "Its answer is chance."
_CLOCK = "Its answer is the time of day."
_BYTES = "A sketch is bytes, and reading it needs another; both sides get the same text."

NOT_GENERATED: dict[str, str] = {
    **dict.fromkeys(spark_functions._CHANCE, _CHANCE),
    **dict.fromkeys(spark_functions._CLOCK - {"unix_timestamp"}, _CLOCK),
    **dict.fromkeys(spark_functions._SKETCHES, _BYTES),
    "count_min_sketch": _BYTES,
    "counter_diff": "It is a window function over times and counters of its own.",
    "histogram_numeric": "Its bins depend on the order in which rows come.",
    "raise_error": "It has no answer.",
    "time": "It is a type that millpond's tables do not have.",
}
for _name in ("bitmap_bit_position", "bitmap_bucket_number", "bitmap_construct_agg", "bitmap_count"):
    del NOT_GENERATED[_name]
