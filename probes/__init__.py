"""Probes, which measure from a host to an address, and counters, which are read meanwhile."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
