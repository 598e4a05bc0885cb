"""Variants: each student has numbers of their own, which follow from the name, so that they can be made again."""

import hashlib
import random
from dataclasses import dataclass

from labs.framework.lab import Lab, Parameters


@dataclass(frozen=True)
class Variant:
    """A student's variant of a lab.

    Attributes:
        student: the name or number by which the teacher knows the student; upper and lower case are the same.
        course: a word of the teacher's, by which the same student has other numbers in another year.
    """

    student: str
    course: str = ""

    def chance(self, number: int) -> random.Random:
        """The random numbers of a lab."""
        text = f"{self.course.strip().casefold()}\0{number}\0{self.student.strip().casefold()}"
        return random.Random(hashlib.sha256(text.encode()).digest())

    def parameters(self, lab: Lab) -> Parameters:
        """The values of a lab."""
        return lab.parameters(self.chance(lab.number))
