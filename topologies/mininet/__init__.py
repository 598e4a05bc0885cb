"""Flightpath in Mininet's own `mn` command."""
