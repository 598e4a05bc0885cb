"""Shortest-path forwarding, and the links that it may use: probes, port counters and link monitor."""
