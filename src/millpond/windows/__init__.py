"""Windows: which rows of a streaming table a query sees at an instant.

One module for each kind of window, with everything there is to say about it: how it is written, where it begins, how EXPLAIN
describes it. `base.Window` is what the rest of millpond knows of a window; `registry.KINDS` is the list of kinds. A new kind
is a new module here and a line in that list, plus a strategy (`network/strategies`) if it can be kept incrementally.
"""
