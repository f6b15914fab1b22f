"""Ways of evaluating a continuous query."""
