"""Parts of the experiments with congestion controls, and the command `python -m congestion trace`."""
