"""The course of a measurement: preparation, iterations, what limited them, and the route and iperf3 beside them."""
