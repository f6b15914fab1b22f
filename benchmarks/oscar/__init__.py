"""The experiments of the paper on OSCAR: reduced reads and hybrid queries."""
