"""Checks a student's folder: reads it, tries it, and judges what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flightpath.errors import UsageError
from labs.framework import experiments
from labs.framework.lab import Finding, Measured
from labs.framework.work import Submission
from results.records import Verdict


@dataclass(frozen=True)
class Checked:
    """A submission with its measurements and findings."""

    submission: Submission
    measured: Measured
    findings: Sequence[Finding]

    @property
    def is_judged(self) -> bool:
        """Whether the experiment can be trusted; otherwise there are no marks, good or bad."""
        return bool(self.measured.failure) or self.measured.verdict is Verdict.FAITHFUL

    @property
    def points(self) -> int:
        return sum(finding.points for finding in self.findings if finding.passed)

    @property
    def of(self) -> int:
        return sum(finding.points for finding in self.findings)

    @property
    def passed(self) -> bool:
        return self.is_judged and bool(self.findings) and self.points == self.of


def check(submission: Submission, recording: Path | None = None) -> Checked:
    """Tries and judges a submission, by the clock of its lab.

    Args:
        recording: file for the packets; a trial that comes to no end leaves none.
    """
    (measured,) = experiments.measure([submission], submission.lab.clock, recording=recording)
    return judged(submission, measured)


def judged(submission: Submission, measured: Measured) -> Checked:
    lab, work = submission.lab, submission.work
    if measured.failure:
        # The same findings, so that the total of points stays the same; answers are right or wrong by themselves.
        findings = lab.judge(submission.variant.parameters(lab), work, Measured({}))
        missed = [
            replace(each, passed=False, evidence="not tried", hint="") if each.needs_experiment else each
            for each in findings
        ]
        return Checked(submission, measured, missed)
    if measured.verdict is not Verdict.FAITHFUL:
        return Checked(submission, measured, ())
    return Checked(submission, measured, tuple(lab.judge(submission.variant.parameters(lab), work, measured)))


def require_answers(submission: Submission) -> None:
    """Raises UsageError if no question is answered and there is nothing else to be tried."""
    lab = submission.lab
    if lab.questions and not submission.work.answers and not lab.has_files:
        raise UsageError(
            "no question is answered yet", f"write your numbers into {submission.work.folder}/answers.toml"
        )
