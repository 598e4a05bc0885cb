"""Counters that are read while something else runs: processors, links, MPTCP."""
