"""`python -m labs.grading.one`: checks the submission in a confinement, and prints the marks as JSON."""

import sys

from pydantic import TypeAdapter

from flightpath.errors import FlightpathError
from labs.framework.checking import check
from labs.framework.work import read
from labs.grading.confinement import SUBMISSION
from labs.grading.marks import Marks, ungraded


def main() -> int:
    """Prints the marks; always returns 0, because a submission that cannot be tried has marks too."""
    marks = _marks()
    sys.stdout.write(TypeAdapter(Marks).dump_json(marks).decode())
    return 0


def _marks() -> Marks:
    try:
        submission = read(SUBMISSION)
    except FlightpathError as error:
        return ungraded(str(error).replace("\n  ", ": "))
    try:
        return Marks.of_checked(check(submission))
    except FlightpathError as error:
        return ungraded(str(error).replace("\n  ", ": "), submission)


if __name__ == "__main__":
    sys.exit(main())
