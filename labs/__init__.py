"""Teaching labs: instructions with a student's own numbers, work to complete, and checks by what networks really do."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
