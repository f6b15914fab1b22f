"""The network at work: ticks, tasks of shards, commits."""
