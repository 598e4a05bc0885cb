"""Steering: connections, their subflows, and the path that each is given."""
