"""Marks for many submissions: each is tried in a confinement that it cannot leave."""
