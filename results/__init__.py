"""What was measured, kept: records, the store, figures, claims and reports."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
