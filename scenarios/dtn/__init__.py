"""Common parts of the experiments with data transfer nodes."""
