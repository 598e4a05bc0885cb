"""Subflows over three paths, one of them for emergencies only."""
