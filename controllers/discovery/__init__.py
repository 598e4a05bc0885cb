"""What foreign networks need: discovery of hosts and links, recovery of state after a restart, flood guards."""
