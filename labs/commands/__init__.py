"""The commands of `flightpath lab`."""
