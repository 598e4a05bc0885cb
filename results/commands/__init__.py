"""The commands of `flightpath results`."""
