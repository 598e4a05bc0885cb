"""Emulated networks: hosts, links, switches, the sandbox they live in and the testbed that runs them."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
