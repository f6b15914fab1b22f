"""What millpond's speed claims rest on. `python -m benchmarks --list` tells what there is; see `harness` for the rules."""
