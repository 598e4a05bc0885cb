"""JMeter as a load generator: installation, the run, its result file, and the metrics of a load."""
