"""Guests: commands that run in a kernel of their own, which is a process of this machine."""
