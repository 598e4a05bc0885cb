"""Parts of the experiments with congestion controls, and the command `flightpath congestion trace`."""
