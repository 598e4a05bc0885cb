"""Replays: a stored cell in virtual time is measured again, stopped at any moment and looked at."""
