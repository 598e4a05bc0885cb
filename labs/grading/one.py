"""The check of one submission inside its confinement: the far side of `labs.grading.grading`."""

from flightpath.errors import FlightpathError
from labs.framework.checking import check
from labs.framework.work import read
from labs.grading.confinement import SUBMISSION
from labs.grading.marks import Marks, ungraded


def marks() -> Marks:
    """Checks the submission; one that cannot be tried has marks too."""
    try:
        submission = read(SUBMISSION)
    except FlightpathError as error:
        return ungraded(str(error).replace("\n  ", ": "))
    try:
        return Marks.of_checked(check(submission))
    except FlightpathError as error:
        return ungraded(str(error).replace("\n  ", ": "), submission)
