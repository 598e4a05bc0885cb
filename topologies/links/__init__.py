"""Emulated links: specification, emulators, events."""
