"""Bandwidth, delay and their product."""
