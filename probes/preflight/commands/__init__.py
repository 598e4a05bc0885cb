"""The commands, a module each: `parser` returns the arguments, and `run` returns the exit code."""
