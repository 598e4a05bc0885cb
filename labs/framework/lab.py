"""The interface of a lab (its text, its parameters, the measurement of a student's work, its judgement), and variants.

Each student has individual numbers, which are derived from the name and so can be reproduced.
"""

import hashlib
import random
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flightpath.clock import Clock
from flightpath.errors import UsageError
from results.records import Series, Verdict

Parameters = Mapping[str, Any]
"""Values of a variant, as JSON values; the instructions name them."""

_MAX_LENGTH = 200  # of a student's name and a course together: both stand in tables


@dataclass(frozen=True)
class Question:
    """A question whose answer is a number.

    Attributes:
        key: key with the unit: `rtt_ms`.
        is_tried: whether the experiment uses the answer; other answers are only judged.
    """

    key: str
    text: str
    is_tried: bool = False


@dataclass(frozen=True)
class Work:
    """A student's work.

    Attributes:
        folder: folder of the student's files.
        answers: numbers by the keys of the questions; unanswered questions are left out.
    """

    folder: Path
    answers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """Result of an experiment with a student's work.

    Attributes:
        values: measured values by name, in the units of the names.
        verdict: verdict of the certificate; an experiment that is not faithful is not judged.
        series: series for the picture.
        failure: reason why the work could not be measured, in a sentence; empty if it could.
    """

    values: Mapping[str, float]
    verdict: Verdict = Verdict.FAITHFUL
    reasons: Sequence[str] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True)
class Finding:
    """Judgement of one part of a student's work.

    Attributes:
        what: part that was judged, in a few words.
        evidence: value that was judged.
        hint: help if it is wrong; it does not give the answer.
        needs_experiment: whether it depends on what was measured, not only on an answer.
    """

    what: str
    passed: bool
    evidence: str = ""
    hint: str = ""
    points: int = 1
    needs_experiment: bool = True


def hints(findings: Iterable[Finding]) -> list[str]:
    """Returns the hints of the failed findings, without repetitions."""
    return list(dict.fromkeys(finding.hint for finding in findings if not finding.passed))


class Lab(ABC):
    """A lab. Its folder has the instructions, `README.md`, and in `work/` the files that a student completes.

    Attributes:
        number: its place in the course.
        goal: skill that a student has afterwards, in a sentence.
        needs: prior knowledge.
        questions: questions whose answers are numbers.
        has_files: whether there are files to complete, too.
    """

    number: int
    title: str
    minutes: int
    goal: str
    needs: str = "nothing"
    questions: tuple[Question, ...] = ()
    has_files = False
    clock: Clock = Clock.VIRTUAL

    def tried(self, answers: Mapping[str, float]) -> Mapping[str, float]:
        """Returns the answers that the experiment uses."""
        keys = [question.key for question in self.questions if question.is_tried]
        return {key: answers[key] for key in keys if key in answers}

    @abstractmethod
    def parameters(self, chance: random.Random) -> Parameters:
        """Returns the values of one variant."""

    def tried_in(self, parameters: Parameters, chance: random.Random) -> Parameters:
        """Returns the values of one trial, which differ from the variant's where a program must measure them."""
        return parameters

    @abstractmethod
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        """Tries a student's work in a network of this variant; called inside the sandbox.

        Args:
            parameters: the values of this trial, see `tried_in`.
            work: work with only those answers that the experiment uses.

        Raises:
            MeasurementFailed: the work does not run; the message is for the student.
        """

    @abstractmethod
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        """Judges what was measured; called only for an experiment that is faithful."""


def canonical(name: str) -> str:
    """Returns a name in a form that ignores case, extra spaces, and the encoding of letters."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@dataclass(frozen=True)
class Variant:
    """A student's variant of a lab.

    Attributes:
        student: the name or number by which the teacher knows the student; case and spaces do not matter.
        course: word that the teacher chooses; with another one, the same student gets other numbers.
    """

    student: str
    course: str = ""

    def __post_init__(self) -> None:
        both = f"{self.student}{self.course}"
        if not canonical(self.student) or not both.isprintable() or len(both) > _MAX_LENGTH:
            raise UsageError(
                f"no variant is of student {self.student[:_MAX_LENGTH]!r} in course {self.course[:_MAX_LENGTH]!r}",
                f"both are words to be read, of {_MAX_LENGTH} characters; the student's is not empty: --student NAME",
            )

    def chance(self, number: int) -> random.Random:
        text = f"{canonical(self.course)}\0{number}\0{canonical(self.student)}"
        return random.Random(hashlib.sha256(text.encode()).digest())

    def parameters(self, lab: Lab) -> Parameters:
        return lab.parameters(self.chance(lab.number))
