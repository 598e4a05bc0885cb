"""SSH connections: the far end, its host keys, logging in, sockets, and packets."""
