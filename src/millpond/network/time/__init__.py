"""Event time as the network sees it: instants, and streams put into the order of time."""
