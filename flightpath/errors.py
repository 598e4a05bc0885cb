"""Errors: a one-sentence message, a hint on what to do, and the command's exit code."""


class FlightpathError(Exception):
    """Base of all errors for users: what failed and where, and on a second line what to do about it."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n  {self.hint}" if self.hint else message


class UsageError(FlightpathError):
    """The request is invalid; nothing was started. Exit code 2."""

    exit_code = 2


class MissingCapability(FlightpathError):
    """The machine lacks something; the hint says how to install or enable it. Exit code 3."""

    exit_code = 3


class StartFailed(MissingCapability):
    """An installed program does not start on this machine; the message has the end of its log. Exit code 3."""


class UntrustworthyResult(FlightpathError):
    """The run ended, but its results cannot be trusted. Exit code 4."""

    exit_code = 4


class MeasurementFailed(FlightpathError):
    """A cell could not be measured because a probe, a service or a link failed. Exit code 1."""


class UntrustworthyWarning(UserWarning):
    """Some cells of a finished run are unusable: the warning of `flightpath.run` where a command has exit code 4."""
