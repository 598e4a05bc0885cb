"""The examination: finds all checks and runs them, those that change anything in a sandbox."""

import contextlib
import importlib
import os
import pickle
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flightpath.errors import MissingCapability, UsageError
from topologies.doctor import checks as folder
from topologies.doctor import kernel_modules
from topologies.doctor.check import Area, Check, CheckResult, State, conclude, examine, registered_checks, unknown
from topologies.doctor.checks import machine, privileges
from topologies.sandbox import sandbox

for _module in pkgutil.iter_modules(folder.__path__):
    importlib.import_module(f"{folder.__name__}.{_module.name}")
CHECKS = registered_checks()
"""All checks, in the order in which they are shown, except `sandbox`, which the examination itself makes."""


@dataclass(frozen=True)
class Examination:
    """What was found on this machine.

    Attributes:
        results: one for each check, grouped by area.
        loaded_modules: kernel modules that the examination made the kernel load.
    """

    machine: dict[str, Any]
    results: tuple[CheckResult, ...]
    loaded_modules: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, or 3 if something is missing that the main experiment needs."""
        is_lacking = any(result.required and result.state is State.MISSING for result in self.results)
        return MissingCapability.exit_code if is_lacking else 0


def examine_machine(checks: Sequence[Check] = CHECKS) -> Examination:
    """Runs all checks: first those that need no sandbox, then the others in one sandbox.

    Raises:
        UsageError: this process runs in a sandbox, where probes would disturb the run.
    """
    if sandbox.is_inside():
        raise UsageError("the doctor cannot examine the machine from within a run", "run it in another terminal")
    loaded_before = kernel_modules.loaded()
    outside = [examine(check) for check in checks if not check.sandboxed]
    inside = _examine_in_sandbox([check for check in checks if check.sandboxed])
    by_name = {result.name: result for result in (*outside, *inside)}
    ordered = [by_name.pop(check.name) for check in checks]
    areas = [*(check.area for check in checks), Area.PRIVILEGES]
    results = sorted([*by_name.values(), *ordered], key=lambda result: areas.index(result.area))
    loaded = kernel_modules.loaded() - loaded_before
    return Examination(machine.facts(), tuple(results), tuple(sorted(loaded)))


def _examine_in_sandbox(checks: Sequence[Check]) -> list[CheckResult]:
    """The results of these checks and of the sandbox itself, which comes last."""
    # What was written stays in this memory if the processes of the sandbox are killed.
    with os.fdopen(os.memfd_create("doctor"), "r+b") as shared:

        def body() -> int:
            for check in checks:
                pickle.dump(examine(check), shared)
                shared.flush()
            return 0

        of_sandbox = examine(privileges.sandbox_check(body))
        results: dict[str, CheckResult] = {}
        shared.seek(0)
        with contextlib.suppress(EOFError):
            while True:
                result = pickle.load(shared)
                results[result.name] = result
    reason = unknown(f"not tried, because there is no sandbox: {of_sandbox.found}", of_sandbox.remedy)
    return [*(results.get(check.name) or conclude(check, reason) for check in checks), of_sandbox]
