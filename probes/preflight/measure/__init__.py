"""The course of a measurement: preparation, iterations, their limits, and the route and iperf3 for comparison."""
