"""How rows are written in files and lines: one module for each format."""
