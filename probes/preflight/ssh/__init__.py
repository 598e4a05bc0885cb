"""SSH connections: sockets, host keys, log-in, the packet layer, and SFTP sessions."""
