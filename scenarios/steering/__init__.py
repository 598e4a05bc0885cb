"""Parts of the experiment `subflow_steering`: claims and figures."""
