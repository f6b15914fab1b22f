"""Other systems that benchmarks build for themselves, from packages that the ordinary client of their language fetches."""
