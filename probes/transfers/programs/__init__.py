"""Programs that probes run in hosts: only a process in a host's network namespace can use its network."""
