"""Commands that try a feature."""

from collections.abc import Sequence

from flightpath.commands import CommandFailed, require, run
from topologies.doctor.check import Finding, failed_command, ok

COMMAND_TIMEOUT_S = 10.0


def try_commands(*commands: Sequence[str], found: str) -> Finding:
    """Runs commands one after the other: ok with `found` if all succeed, else the finding for the first failure."""
    try:
        for program, *arguments in commands:
            run([require(program), *arguments], timeout_s=COMMAND_TIMEOUT_S, env={"LC_ALL": "C"})
    except CommandFailed as error:
        return failed_command(error)
    return ok(found)
