"""Triggers: what is done with each result row of a query. `runner` is one of them at work, `supervisor` all of a pond."""
