"""Errors with a one-sentence message, a hint on what to do, and the exit code of the command that they end."""


class FlightpathError(Exception):
    """Base of all errors that users see: what happened and where, and on a line of its own what to do about it."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n  {self.hint}" if self.hint else message


class UsageError(FlightpathError):
    """The request makes no sense; nothing was started. Exit code 2."""

    exit_code = 2


class MissingCapability(FlightpathError):
    """The machine lacks something; the hint is the command that installs or enables it. Exit code 3."""

    exit_code = 3


class StartFailed(MissingCapability):
    """An installed program does not start on this machine; the message has the end of its log. Exit code 3."""


class UntrustworthyResult(FlightpathError):
    """The run ended, but its results cannot be trusted. Exit code 4."""

    exit_code = 4


class MeasurementFailed(FlightpathError):
    """A cell could not be measured because a probe, a service or a link failed. Exit code 1."""


class UntrustworthyWarning(UserWarning):
    """A run ended, and some of its cells are unusable: `flightpath.run` warns where a command has exit code 4."""
