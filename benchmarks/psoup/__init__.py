"""Standing queries on the workload of the paper on PSoup (VLDB 2002, section 5.2.1).

`workload` draws rows and queries and says naively which match; `api` is all that the experiments use of millpond. `paper` holds
what was published. A module for each experiment measures; `standing.py` and its neighbours put them together as benchmarks.
"""
