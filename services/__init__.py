"""Real daemons inside a host, started and waited for: without them a scenario would load a stub, not a service."""
