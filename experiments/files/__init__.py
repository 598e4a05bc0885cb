"""Experiment files: a TOML file that is a scenario."""
