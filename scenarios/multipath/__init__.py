"""Parts of the experiments with several paths."""
