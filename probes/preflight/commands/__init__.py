"""The `preflight` command: options, progress, tables and plots."""
