"""Comparison of runs: their figures, and what else differs between them."""
