"""What a lab is: its text, its parameters, what is measured of a student's work, and how that is judged."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flightpath.clock import Clock
from results.records import Series, Verdict

Parameters = Mapping[str, Any]
"""The values of a variant, as JSON values; the instructions name them."""


@dataclass(frozen=True)
class Question:
    """A number that a student finds out.

    Attributes:
        key: with the unit: `rtt_ms`.
        text: the question.
        is_tried: the experiment is made with the answer; others are only judged.
    """

    key: str
    text: str
    is_tried: bool = False


@dataclass(frozen=True)
class Work:
    """What a student handed in.

    Attributes:
        folder: of the student's files.
        answers: numbers by the keys of the questions; what was not answered is not there.
    """

    folder: Path
    answers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """What an experiment with a student's work found.

    Attributes:
        values: by name, in the units that the names say.
        verdict: of the certificate; nothing is judged by an experiment that is not faithful.
        reasons: for the verdict, in words.
        series: for the picture.
        failure: why the work could not be measured, in a sentence; empty if it could.
    """

    values: Mapping[str, float]
    verdict: Verdict = Verdict.FAITHFUL
    reasons: Sequence[str] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True)
class Finding:
    """What a check says of one thing.

    Attributes:
        what: that was looked at, in a few words.
        passed: whether it is right.
        said: what was found.
        hint: what to think about if it is wrong; it does not give the answer.
        points: that it is worth.
    """

    what: str
    passed: bool
    said: str = ""
    hint: str = ""
    points: int = 1


def hints(findings: Iterable[Finding]) -> list[str]:
    """The hints for what is wrong, each once."""
    return list(dict.fromkeys(finding.hint for finding in findings if not finding.passed))


class Lab(ABC):
    """A lab. Its folder has the instructions, `README.md`, and in `work/` the files that a student completes.

    Attributes:
        number: its place in the course.
        title: in a few words.
        minutes: that a student needs.
        goal: what a student can do afterwards, in a sentence.
        needs: what a student should know before.
        questions: the numbers to be found out.
        has_files: whether there are files to complete, too.
        clock: by which it is checked.
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
        """The answers with which the experiment is made."""
        keys = [question.key for question in self.questions if question.is_tried]
        return {key: answers[key] for key in keys if key in answers}

    @abstractmethod
    def parameters(self, chance: random.Random) -> Parameters:
        """The values of one variant."""

    @abstractmethod
    def measure(self, parameters: Parameters, work: Work) -> Measured:
        """Tries a student's work in a network of this variant; called inside the sandbox.

        Args:
            work: with the answers that are tried, and no others.

        Raises:
            MeasurementFailed: the work does not run; the message is for the student.
        """

    @abstractmethod
    def judge(self, parameters: Parameters, work: Work, measured: Measured) -> Iterator[Finding]:
        """What is right and what is wrong; called only for an experiment that is faithful."""
