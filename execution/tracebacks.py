"""Executors that say which exception ended a cell in a guest: one that nobody expected, with its traceback."""

import textwrap

from execution.executor import RunContext
from execution.guest_executors import GuestExecutor, UmlExecutor, VmExecutor, _RunningGuest
from execution.guests.guest import Guest
from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from results.records import CellResult

_BEGIN = "Traceback (most recent call last):"
_MAX_CHARACTERS = 6000


class WithTracebacks(GuestExecutor):
    """An executor whose errors quote the traceback that the guest's program printed as it ended."""

    @override
    def _result(self, run: RunContext, each: _RunningGuest) -> CellResult | MeasurementFailed | None:
        result = super()._result(run, each)
        return explained(result, each.call.guest) if isinstance(result, MeasurementFailed) else result


class UmlWithTracebacks(WithTracebacks, UmlExecutor):
    """The virtual-time kernel."""


class VmWithTracebacks(WithTracebacks, VmExecutor):
    """A virtual machine."""


def explained(error: MeasurementFailed, guest: Guest) -> MeasurementFailed:
    """Returns the error of a guest: the exception and its traceback, if its program ended with one."""
    printed = guest.shared / "stderr"
    text = printed.read_text(encoding="utf-8", errors="replace") if printed.exists() else ""
    _, began, rest = text.partition(_BEGIN)
    if not began:
        return error
    traceback = f"{began}{rest}".strip()[-_MAX_CHARACTERS:]
    return MeasurementFailed(f"{traceback.splitlines()[-1]}\n{textwrap.indent(traceback, '    ')}", error.hint)
