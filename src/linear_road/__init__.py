"""Linear Road: variable tolling of a city's expressways, a stream data management benchmark (Arasu et al., VLDB 2004).

An application of millpond. `records` names the tuples, `traffic` and `requests` simulate the input, `history` makes
the ten weeks before it, and `generate` writes all three as files.
"""
