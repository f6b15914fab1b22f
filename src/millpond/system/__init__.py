"""System tables: what a pond knows of itself, as relations in the schema `millpond` that any SELECT can join.

`registry` says what a system table is and how one is added; the other modules have one theme each. SHOW statements and
`Pond.status` read these relations too, so there is one place where each fact is worked out.
"""
