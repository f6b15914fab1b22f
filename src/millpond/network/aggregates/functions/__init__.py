"""Aggregate functions that are kept up as rows come: a module for each, the parts they are held as, and their registry."""
