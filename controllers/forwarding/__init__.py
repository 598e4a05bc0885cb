"""Shortest-path forwarding, and the links it may use: probes, counters and verdicts."""
