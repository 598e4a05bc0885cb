"""A whole network, started, calibrated, checked and stopped: hosts, switches, controller, tunnels."""
