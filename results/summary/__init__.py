"""Results in words and tables: verdicts, means, certificates."""
