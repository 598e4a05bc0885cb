"""Response times of a server that pauses, measured so that the pauses count."""
