"""What is remembered: the intake log, the tail in memory, the archive on disk, and the seam between them."""
