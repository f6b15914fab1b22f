"""Ways of evaluating a continuous query, one module each. `base` has the contract, `registry` the choice among them.

    rows         each row of the stream for itself: a filter and a projection of what arrives
    neighbours   each row with its neighbours in a partitioned window: what changes at a key depends on that key alone
    newest       the rows of the instant alone, each with its neighbours in a partitioned window
    running      aggregates over a window that only grows; nothing else can be asked of such a window
    approximate  aggregates over a window of time for which the query names an error: synopses instead of rows
    correlated   correlated aggregates since a landmark: buckets instead of rows
    instants     anything: the one-time query over the contents of the windows, at each instant

A new strategy is a module here and an entry in `registry.STRATEGIES`. What strategies are made of is in `parts`.
"""
