"""Experiments, one file each: parameters, what is measured, figures, and the paper's claims."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
