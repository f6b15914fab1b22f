"""Deciding how a continuous query is evaluated: prepared, placed, split in two phases."""
