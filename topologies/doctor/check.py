"""What a check is, and what it can find: without one form every probe would tell its result in a way of its own."""

import enum
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability

COMMAND_LIMIT_S = 10.0
_FOUND_LIMIT = 300
_EXIT_CODE = re.compile(r"^.*?: exit code -?\d+: ", re.DOTALL)
_NO_PRIVILEGE = ("Operation not permitted", "Permission denied")


class State(enum.StrEnum):
    """What became of a check."""

    OK = "ok"
    LIMITED = "limited"
    """There, but too little of it, or not for this user."""
    MISSING = "missing"
    UNKNOWN = "unknown"
    """It could not be tried; the finding says why."""


@dataclass(frozen=True)
class Finding:
    """What one probe found.

    Attributes:
        state: see State.
        found: a version, a figure, or the machine's own words of refusal.
        remedy: in place of the check's own, where the probe knows the cause.
    """

    state: State
    found: str
    remedy: str | None = None


@dataclass(frozen=True)
class Check:
    """One thing that a machine has or has not.

    Attributes:
        area: the group in which it is shown.
        name: unique among all checks.
        probe: tries it; may raise what it likes (see `examine`).
        costs: what its absence costs, in one plain sentence.
        remedy: what mends it on Debian and Ubuntu, as a command where there is one.
        required: `make mptcp_load` cannot run without it.
        sandboxed: tried in namespaces that are thrown away afterwards.
    """

    area: str
    name: str
    probe: Callable[[], Finding]
    costs: str
    remedy: str
    required: bool = False
    sandboxed: bool = False


@dataclass(frozen=True)
class CheckResult:
    """A check after its probe has run; fields as Check and Finding have them."""

    area: str
    name: str
    state: State
    found: str
    costs: str
    remedy: str
    required: bool


def ok(found: str) -> Finding:
    """It works."""
    return Finding(State.OK, found)


def limited(found: str, remedy: str | None = None) -> Finding:
    """It works, but not well enough or not for this user."""
    return Finding(State.LIMITED, found, remedy)


def missing(found: str, remedy: str | None = None) -> Finding:
    """It was tried, and is not there."""
    return Finding(State.MISSING, found, remedy)


def unknown(found: str, remedy: str | None = None) -> Finding:
    """It could not be tried."""
    return Finding(State.UNKNOWN, found, remedy)


def examine(check: Check) -> CheckResult:
    """Runs a check's probe; whatever that raises becomes a finding, so that one probe cannot spoil the others."""
    return conclude(check, _finding(check.probe))


def conclude(check: Check, finding: Finding) -> CheckResult:
    """A check and its finding as one result, with a remedy that this user can type."""
    remedy = finding.remedy or check.remedy
    if is_machine_root():
        remedy = remedy.replace("sudo ", "")
    return CheckResult(
        check.area, check.name, finding.state, one_line(finding.found), check.costs, one_line(remedy), check.required
    )


def try_commands(*commands: Sequence[str], found: str) -> Finding:
    """Runs commands one after the other: `found` if all succeed, else why the first failed.

    Raises:
        MissingCapability: a program is not installed.
    """
    try:
        for program, *arguments in commands:
            run([require(program), *arguments], timeout_s=COMMAND_LIMIT_S, env={"LC_ALL": "C"})
    except CommandFailed as error:
        return refused(error)
    return ok(found)


def refused(error: CommandFailed) -> Finding:
    """What a failed command means: missing, or unknown where only the privilege to try was wanting."""
    words = words_of(error)
    return unknown(words) if any(refusal in words for refusal in _NO_PRIVILEGE) else missing(words)


def refused_call(error: OSError, call: str) -> Finding:
    """The same of a system call."""
    words = f"{call}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        return unknown(f"this user may not try it: {words}", "run the doctor as root (sudo)")
    return missing(words)


def words_of(error: CommandFailed) -> str:
    """A failed program's own words, without the command line that its error begins with."""
    return one_line(_EXIT_CODE.sub("", str(error)))


def one_line(text: str) -> str:
    """Text for one cell of a table."""
    line = " ".join(text.split())
    return line if len(line) <= _FOUND_LIMIT else line[: _FOUND_LIMIT - 1] + "…"


def is_machine_root() -> bool:
    """Whether this process is root of the machine, and not only of a user namespace (as in a sandbox without root)."""
    with open("/proc/self/uid_map", encoding="ascii") as stream:  # noqa: PTH123 (one line)
        return os.geteuid() == 0 and stream.readline().split()[:2] == ["0", "0"]


def _finding(probe: Callable[[], Finding]) -> Finding:
    try:
        return probe()
    except MissingCapability as error:
        return missing(error.args[0], error.hint or None)
    except PermissionError as error:
        return refused_call(error, str(error.filename or "refused"))
    except Exception as error:
        return unknown(f"{type(error).__name__}: {error}")
