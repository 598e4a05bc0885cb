"""The commands: each module has the arguments of one, as `parser`, and what it does, as `run`."""
