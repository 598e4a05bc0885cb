"""JMeter as a load generator: installation, probe, result file, and the metrics of a load."""
