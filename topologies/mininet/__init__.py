"""The parts of Mininet's own command `mn` that Flightpath replaces: network, command line, options."""
