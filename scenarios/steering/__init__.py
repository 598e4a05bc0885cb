"""Parts of the experiment `subflow_steering`."""
