"""Stored measurements: how they are recorded and read, and what they say about a path and a transfer over it."""
