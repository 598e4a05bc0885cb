"""A measurement: its iterations, the route, iperf3 beside it, and a verdict on what limited it."""
