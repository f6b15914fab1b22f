"""Names to meaning: a module for each step of `bind`, which puts them in order.

Each step changes the tree in place and either leaves what it is about resolved or raises a `SqlError` with the place.
"""
