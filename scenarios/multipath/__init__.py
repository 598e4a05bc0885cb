"""What the experiments on several paths share."""
