"""Standing queries: registered now, asked later, answered as of then. docs/design/0012 has the idea."""
