"""Tables and results of a pond as the Spark format `millpond`, for people who live in Spark.

    conditions  which rows are read at all
    options     what a user writes: the pond, the name, where a stream begins
    relations   what is behind a name, seen by a process that plans: a snapshot of it, and where its rows are
    parts       pieces of a relation that tasks read
    batch       reading once
    stream      reading on and on, by row number
    writing     rows of tasks, handed over to the process that writes the pond
    sessions    the format in a session, and a pond's tables as views

Nothing here runs in the pond's process but `sessions`. Spark plans, reads and writes in Python processes of its own, which
open the pond's folder as any reader does. The class that Spark knows is in the package `pyspark_millpond`.
"""
