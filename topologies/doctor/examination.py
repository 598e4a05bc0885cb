"""The examination: finds and runs all checks, in a sandbox if they change anything."""

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
"""All checks in the order of display, except `sandbox`, which the examination makes itself."""


@dataclass(frozen=True)
class Examination:
    """Results of an examination of this machine.

    Attributes:
        loaded_modules: kernel modules that were loaded because of the examination.
    """

    machine: dict[str, Any]
    results: tuple[CheckResult, ...]
    loaded_modules: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        is_lacking = any(result.required and result.state is State.MISSING for result in self.results)
        return MissingCapability.exit_code if is_lacking else 0


def examine_machine(checks: Sequence[Check] = CHECKS) -> Examination:
    """Runs all checks: first those that need no sandbox, then the others in one sandbox."""
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
    """Returns the results of checks in a sandbox, and last the result for the sandbox itself."""
    # Results in this memory survive if the processes of the sandbox are killed.
    with os.fdopen(os.memfd_create("doctor"), "r+b") as shared:

        def body() -> int:
            for check in checks:
                pickle.dump(examine(check), shared)
                shared.flush()
            return 0

        sandbox_result = examine(privileges.sandbox_check(body))
        results: dict[str, CheckResult] = {}
        shared.seek(0)
        with contextlib.suppress(EOFError):
            while True:
                result = pickle.load(shared)
                results[result.name] = result
    reason = unknown(f"not tried, because there is no sandbox: {sandbox_result.found}", sandbox_result.remedy)
    return [*(results.get(check.name) or conclude(check, reason) for check in checks), sandbox_result]
