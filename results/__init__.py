"""Records of measurements, the store, statistics, figures, reports and the dashboard."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
