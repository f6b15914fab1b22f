"""The aggregate functions that are kept up as rows come, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from millpond.network.aggregates.functions.base import AggregateFunction
from millpond.network.aggregates.functions.count import Count
from millpond.network.aggregates.functions.distinct import CountDistinct
from millpond.network.aggregates.functions.extremes import Max, Min
from millpond.network.aggregates.functions.sums import Avg, Sum

BY_NAME: Final[Mapping[str, AggregateFunction]] = {f.name: f for f in (Count(), Sum(), Avg(), Min(), Max())}
"""Those that are called by their names in SQL."""
DISTINCT: Final = CountDistinct()
FUNCTIONS: Final[Mapping[str, AggregateFunction]] = {**BY_NAME, DISTINCT.name: DISTINCT}
