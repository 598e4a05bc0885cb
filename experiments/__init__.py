"""The contract of an experiment: plan, axes, claims and certificates. Pure: no command line, no store, no processes."""
