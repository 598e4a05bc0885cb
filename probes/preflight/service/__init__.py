"""Preflight as a service: units for the system's scheduler, alerts, and what other displays read."""
