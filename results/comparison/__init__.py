"""Comparison of runs: metrics, configuration and environment."""
