"""Flightpath's replacements for parts of Mininet's command `mn`: network, command line, options."""
