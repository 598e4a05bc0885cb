"""Errors that say what happened, where, and what to do: without them a failed run is a traceback."""


class FlightpathError(Exception):
    """Base of every error that a user may see.

    Args:
        message: what happened and where, in one sentence.
        hint: what to do about it; printed on a line of its own.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n  {self.hint}" if self.hint else message


class UsageError(FlightpathError):
    """What the user asked for makes no sense; nothing was started. Exit code 2."""

    exit_code = 2


class MissingCapability(FlightpathError):
    """The machine lacks something; the hint is the command that gets it. Exit code 3."""

    exit_code = 3


class StartFailed(MissingCapability):
    """A program that is installed does not start on this machine; the end of its log is in the message. Exit code 3."""


class UntrustworthyResult(FlightpathError):
    """The run ended, but its figures must not be believed. Exit code 4."""

    exit_code = 4


class MeasurementFailed(FlightpathError):
    """A cell could not be measured: a probe, a service or a link failed during it. Exit code 1."""
