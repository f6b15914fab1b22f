"""Linear Road on other systems, as peers of our own application: the same input, driver, output format and validator.

`running` hands an input over to a peer and writes its answers; `postgres_peer` and `spark_peer` are the systems; `rating`
finds the L of each. Both peers do the same work by the same idea: all that must be known of a vehicle stands in its report of
30 seconds ago, so that a batch of reports is joined with one earlier batch, and not with a table of all vehicles.
"""
