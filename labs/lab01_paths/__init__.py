"""Addresses, routes, and the paths that packets take."""
