"""Counters read while something else runs: processors, links, MPTCP."""
