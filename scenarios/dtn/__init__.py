"""Parts of the experiments with data transfer nodes."""
