"""Parts that strategies are made of. None of these modules is a strategy.

context      what the strategies of an evaluator share
batching     asking the engine once for queries that differ only in constants
one_time     asking the engine for the result over given contents of windows
projection   SELECT and WHERE over rows, each for itself
selecting    the base of strategies for queries of SELECT and WHERE alone
keyed        of these, the base of those over a partitioned window
grouped      the base of strategies that hold groups instead of rows
summarised   of these, the base of those whose groups are synopses
"""
