"""The commands of `python -m results`."""
