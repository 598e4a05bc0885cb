"""What measures: without probes a testbed would run and nobody would know how fast."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
