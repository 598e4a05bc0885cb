"""Checks of the doctor: their records, the decorator that registers them, and the findings of failures."""

import enum
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability
from flightpath.processes import is_machine_root

_EXIT_CODE = re.compile(r"^.*? ended with exit code \d+: ", re.DOTALL)
COMMAND_TIMEOUT_S = 10.0
_NO_PERMISSION = ("Operation not permitted", "Permission denied")


class Area(enum.StrEnum):
    """Groups in which checks are run and shown, in this order: timers come first, while nothing else runs."""

    MACHINE = "machine"
    PRIVILEGES = "privileges"
    LINKS = "links"
    QUEUES = "queues"
    TUNNELS = "tunnels"
    SWITCHES = "switches"
    MPTCP = "MPTCP"
    CONGESTION_CONTROL = "congestion control"
    BPF = "BPF"
    TOOLS = "tools"


class State(enum.StrEnum):
    """Result of a check."""

    OK = "ok"
    LIMITED = "limited"
    """Feature that works, but not well enough, or not for this user."""
    MISSING = "missing"
    UNKNOWN = "unknown"
    """Feature that could not be tried; the finding gives the reason."""


@dataclass(frozen=True)
class Finding:
    """Finding of a probe.

    Attributes:
        found: a version, a number, or the error message of the attempt.
        remedy: replacement of the check's own remedy, if the probe knows the cause.
    """

    state: State
    found: str
    remedy: str | None = None


ok = partial(Finding, State.OK)
limited = partial(Finding, State.LIMITED)
missing = partial(Finding, State.MISSING)
unknown = partial(Finding, State.UNKNOWN)
one_line = partial(textwrap.shorten, width=300, placeholder="…")
"""Shortens a text for one cell of a table."""

Probe = Callable[[], Finding]


@dataclass(frozen=True)
class Check:
    """Check of a feature or program that a machine may have.

    Attributes:
        probe: function that tries the feature; may raise any exception (see `examine`).
        costs: consequence of a missing feature, in one plain sentence.
        remedy: way to get it on Debian and Ubuntu, as a command if there is one.
        required: `make mptcp_load` needs it.
        sandboxed: it must be tried in a sandbox.
    """

    area: Area
    name: str
    probe: Probe
    costs: str
    remedy: str
    required: bool = False
    sandboxed: bool = False


@dataclass(frozen=True)
class CheckResult:
    """Result of a check, with the fields of Check and Finding."""

    area: Area
    name: str
    state: State
    found: str
    costs: str
    remedy: str
    required: bool


_registered: list[Check] = []


def register(area: Area, name: str, **fields: Any) -> Callable[[Probe], Probe]:
    """Makes a decorator that registers a function as the probe of a check; the arguments are those of Check."""

    def decorate(probe: Probe) -> Probe:
        _registered.append(Check(area, name, probe, **fields))
        return probe

    return decorate


def registered_checks() -> tuple[Check, ...]:
    """Returns all checks, ordered by area; within an area, in the order of registration."""
    areas = list(Area)
    return tuple(sorted(_registered, key=lambda check: areas.index(check.area)))


def examine(check: Check) -> CheckResult:
    """Runs a check's probe; an exception becomes a finding, so that one probe cannot stop the others."""
    try:
        finding = check.probe()
    except CommandFailed as error:
        finding = failed_command(error)
    except MissingCapability as error:
        finding = missing(error.args[0], error.hint or None)
    except PermissionError as error:
        finding = failed_call(error, str(error.filename or "refused"))
    except Exception as error:
        finding = unknown(f"{type(error).__name__}: {error}")
    return conclude(check, finding)


def conclude(check: Check, finding: Finding) -> CheckResult:
    """Combines a check with its finding; root's remedies omit `sudo`."""
    remedy = finding.remedy or check.remedy
    if is_machine_root():
        remedy = remedy.replace("sudo ", "")
    return CheckResult(
        check.area, check.name, finding.state, one_line(finding.found), check.costs, one_line(remedy), check.required
    )


def failed_call(error: OSError, call: str) -> Finding:
    """Returns the finding for a failed system call: missing, or unknown if this user may not try it."""
    message = f"{call}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        return unknown(f"this user may not try it: {message}", "run the doctor as root (sudo)")
    return missing(message)


def failed_command(error: CommandFailed) -> Finding:
    """Returns the finding for a failed command: missing, or unknown if this user may not try it."""
    message = message_of(error)
    is_permission = any(refusal in message for refusal in _NO_PERMISSION)
    return unknown(message) if is_permission else missing(message)


def try_commands(*commands: Sequence[str], found: str) -> Finding:
    """Runs commands one after the other: ok with `found` if all succeed, else the finding for the first failure."""
    try:
        for program, *arguments in commands:
            run([require(program), *arguments], timeout_s=COMMAND_TIMEOUT_S, env={"LC_ALL": "C"})
    except CommandFailed as error:
        return failed_command(error)
    return ok(found)


def message_of(error: CommandFailed) -> str:
    """Returns a failed program's own error message, without the command line before it."""
    return one_line(_EXIT_CODE.sub("", str(error)))
