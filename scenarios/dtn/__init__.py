"""What the experiments with data transfer nodes share."""
