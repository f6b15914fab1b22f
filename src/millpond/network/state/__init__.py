"""Where state comes from: history, back-fill, checkpoints, the last result."""
