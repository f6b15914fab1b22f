"""One-time queries out of a grammar: a seed and a number give a text, the same one every time."""
