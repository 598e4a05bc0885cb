"""Emulated networks: hosts, links, switches, the sandbox they live in and the testbed that runs them."""
