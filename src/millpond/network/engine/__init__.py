"""The engine that answers SQL over Arrow tables, the watch over its questions, and the stream operators."""
