"""Variants: each student has individual numbers, which are derived from the name and so can be reproduced."""

import hashlib
import random
from dataclasses import dataclass

from labs.framework.lab import Lab, Parameters


@dataclass(frozen=True)
class Variant:
    """A student's variant of a lab.

    Attributes:
        student: the name or number by which the teacher knows the student; case does not matter.
        course: word that the teacher chooses; with another one, the same student gets other numbers.
    """

    student: str
    course: str = ""

    def chance(self, number: int) -> random.Random:
        """Returns the random number generator of a lab."""
        text = f"{self.course.strip().casefold()}\0{number}\0{self.student.strip().casefold()}"
        return random.Random(hashlib.sha256(text.encode()).digest())

    def parameters(self, lab: Lab) -> Parameters:
        """Returns the variant's values for a lab."""
        return lab.parameters(self.chance(lab.number))
