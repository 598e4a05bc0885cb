"""Resilience of steering: recovery of its state after a restart, and guards against floods of frames."""
