"""Common parts of the experiments on several paths."""
