"""The network that is controlled: its description, its hosts, and the paths through it."""
