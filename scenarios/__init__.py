"""Experiments, a module each: parameters, measurements, figures, and the claims of papers."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
