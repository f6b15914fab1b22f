"""Reductions: functions that say how much of the archive a query reads."""
