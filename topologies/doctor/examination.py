"""Carries out all checks, those that change anything in a sandbox that is thrown away: the doctor's order of work."""

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from flightpath.errors import MissingCapability, UsageError
from topologies.doctor import links, machine, modules, privileges, switches, tools, transport
from topologies.doctor.check import Check, CheckResult, State, conclude, examine, unknown
from topologies.sandbox import sandbox

CHECKS: tuple[Check, ...] = (
    *machine.CHECKS,
    *privileges.CHECKS,
    *links.CHECKS,
    *switches.CHECKS,
    *transport.CHECKS,
    *tools.CHECKS,
)
"""All checks but `sandbox`, which the examination makes, in the order in which they are shown."""


@dataclass(frozen=True)
class Examination:
    """What was found on this machine.

    Attributes:
        machine: kernel, processors, memory, user, …
        results: one for each check, grouped by area.
        loaded_modules: kernel modules that were not loaded before; the kernel loads them when they are first asked for.
    """

    machine: dict[str, Any]
    results: tuple[CheckResult, ...]
    loaded_modules: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, or 3 if a thing that the main experiment needs is missing."""
        lacking = any(result.required and result.state is State.MISSING for result in self.results)
        return MissingCapability.exit_code if lacking else 0


def examine_machine(checks: Sequence[Check] = CHECKS) -> Examination:
    """Runs every check.

    Timers come first, while nothing else of ours runs.

    Raises:
        UsageError: called in a sandbox, where the probes would disturb what runs in it.
    """
    if sandbox.inside():
        raise UsageError("the doctor cannot examine the machine from within a run", "run it in another terminal")
    before = modules.loaded()
    outside = [examine(check) for check in checks if not check.sandboxed]
    inside = _examine_in_sandbox([check for check in checks if check.sandboxed])
    by_name = {result.name: result for result in (*outside, *inside)}
    ordered = [by_name.pop(check.name) for check in checks]
    areas = [*(check.area for check in checks), privileges.AREA]
    results = sorted([*by_name.values(), *ordered], key=lambda result: areas.index(result.area))
    return Examination(machine.facts(), tuple(results), tuple(sorted(modules.loaded() - before)))


def _examine_in_sandbox(checks: Sequence[Check]) -> list[CheckResult]:
    """The results of these checks and of the sandbox itself, which comes last."""
    with _Ledger() as ledger:

        def body() -> int:
            for check in checks:
                ledger.write(examine(check))
            return 0

        of_sandbox = examine(privileges.sandbox_check(body))
        written = ledger.read()
    why = unknown(f"not tried, for want of a sandbox: {of_sandbox.found}", of_sandbox.remedy)
    return [*(written.get(check.name) or conclude(check, why) for check in checks), of_sandbox]


class _Ledger:
    """Results on their way out of a sandbox: memory that the processes share, and that goes with the last of them."""

    def __enter__(self) -> Self:
        self._file = os.fdopen(os.memfd_create("doctor"), "r+", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, result: CheckResult) -> None:
        """Keeps a result, also if the sandbox ends right after."""
        self._file.write(json.dumps(dataclasses.asdict(result)) + "\n")
        self._file.flush()

    def read(self) -> dict[str, CheckResult]:
        """What was written, by the checks' names."""
        self._file.seek(0)
        objects = [json.loads(line) for line in self._file]
        return {each["name"]: CheckResult(**{**each, "state": State(each["state"])}) for each in objects}
