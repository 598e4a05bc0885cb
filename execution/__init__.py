"""Where and how a cell is measured: on this kernel, in virtual time, in a VM, or on a cluster."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
