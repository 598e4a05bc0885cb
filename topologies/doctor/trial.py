"""Running commands and system calls to try a feature, and what their failure means."""

import re
from collections.abc import Sequence

from flightpath.commands import CommandFailed, require, run
from topologies.doctor.check import Finding, missing, ok, one_line, unknown

COMMAND_LIMIT_S = 10.0
_EXIT_CODE = re.compile(r"^.*?: exit code -?\d+: ", re.DOTALL)
_NO_PERMISSION = ("Operation not permitted", "Permission denied")


def try_commands(*commands: Sequence[str], found: str) -> Finding:
    """Runs commands one after the other: ok with `found` if all succeed, else why the first failed.

    Raises:
        MissingCapability: a program is not installed.
    """
    try:
        for program, *arguments in commands:
            run([require(program), *arguments], timeout_s=COMMAND_LIMIT_S, env={"LC_ALL": "C"})
    except CommandFailed as error:
        return failed_command(error)
    return ok(found)


def failed_command(error: CommandFailed) -> Finding:
    """The finding if a command failed: missing, or unknown if only the permission to try it is missing."""
    message = message_of(error)
    is_permission = any(refusal in message for refusal in _NO_PERMISSION)
    return unknown(message) if is_permission else missing(message)


def message_of(error: CommandFailed) -> str:
    """A failed program's own error message, without the command line that the error begins with."""
    return one_line(_EXIT_CODE.sub("", str(error)))
