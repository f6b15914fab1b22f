"""Continuous queries: the network that is evaluated, whole, in every tick."""
