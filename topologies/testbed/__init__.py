"""A complete network (hosts, links, switches, controller, tunnels): start, calibration, health checks, stop."""
