"""Congestion controls against each other at one bottleneck."""
