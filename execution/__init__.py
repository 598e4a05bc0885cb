"""Machines on which a cell is measured: this one, or a User-Mode Linux (the lab) with a real or a virtual clock."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
