"""Emulated networks: one module per network, and packages for hosts, links, switches, sandbox, testbed and doctor."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
