"""An open pond inside a process: its tables, its network, its feeds, and the rounds that move rows on."""
