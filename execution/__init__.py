"""Executors of cells: on this kernel, in virtual time, in a VM, or on a cluster."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
