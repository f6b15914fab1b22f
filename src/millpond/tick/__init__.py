"""The one streaming query of a pond: every tick's work is planned by the pond and done by Spark."""
