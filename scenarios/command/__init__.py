"""The command line of a scenario: options, resuming, storing and printing."""
