"""Comparison of runs: their metrics, and how their configuration and environment differ."""
