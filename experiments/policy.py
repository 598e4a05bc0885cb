"""The controller's policy as a parameter of a scenario, and having none as one of its values."""

NO_POLICY = "none"
"""Shortest paths by address, so that the address of a connection or subflow decides its path."""


def controller_policy(value: str) -> str | None:
    """Returns the policy for a Testbed; None for no policy."""
    return None if value == NO_POLICY else value
