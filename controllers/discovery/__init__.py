"""Discovery of switches, links and hosts, and steering in a network without a description."""
