"""Stories whose continuous queries are evaluated by workers on other hosts: the same answers as in `local[*]`, and as in one process.

Each story has a pond of its own, and so a pipeline of its own; they share the workers. Stories without a tick, and those that say how
something is told rather than what the rows are, are left to tests/stories.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.pond import Pond
from tests.cluster.standalone import Cluster
from tests.stories.test_stories import STORIES, Condition, Story, Teller, wrong_answers

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

ON_A_CLUSTER = Condition("four-shards", shards=4)
TOLD = [s for s in STORIES if any(step.kind in ("tick", "changes", "changes~") for step in s.steps)]


class OnCluster(Teller):
    """Tells a story with the pipeline on a cluster."""

    def __init__(self, cluster: Cluster, story: Story, root: Path) -> None:
        self._cluster = cluster
        super().__init__(story, ON_A_CLUSTER, root)

    def _open(self, *, create: bool) -> Pond:
        settings: dict[str, Any] = {"auto_archive": False, "engine": "duckdb", "shards": 4}
        pond = millpond.connect(
            self._place, create=create, clock=self._clock, **settings, **self._cluster.settings, **self._story.settings
        )
        pond.start(wait=True)
        return pond


@pytest.mark.parametrize("story", TOLD, ids=lambda story: story.id)
def test_story(two_workers: Cluster, story: Story, tmp_path: Path) -> None:
    for known in (story.skipped, story.gaps):
        if ON_A_CLUSTER.name in known:
            pytest.skip(known[ON_A_CLUSTER.name])
    teller = OnCluster(two_workers, story, tmp_path)
    try:
        teller.tell()
    finally:
        teller.close()
    wrong = wrong_answers(story, teller)
    assert not wrong, "\n\n".join(wrong)
