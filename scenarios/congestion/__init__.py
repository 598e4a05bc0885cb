"""Parts of the experiments with congestion controls."""
