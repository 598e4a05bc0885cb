"""Running daemons in a host: start, readiness, privileges, health checks, stop."""
