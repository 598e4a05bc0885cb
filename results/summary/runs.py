"""Facts about a run, as text."""

import platform
import shlex
from collections.abc import Mapping
from typing import Any

from flightpath.clock import Clock
from results.records import RunRecord, RunStatus


def run_facts(record: RunRecord) -> dict[str, str]:
    environment = ", ".join(f"{name} {value}" for name, value in record.environment.items())
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "form": form(record),
        "clock": clock_text(record),
        "scale": f"{record.scale:g}",
        "status": status_text(record),
        "started": f"{record.started_at:%Y-%m-%d %H:%M:%S} UTC",
        "ended": f"{record.ended_at:%Y-%m-%d %H:%M:%S} UTC" if record.ended_at else "-",
        "environment": environment or "-",
        "command": shlex.join(record.command),
    }


def form(record: RunRecord) -> str:
    """Returns the form of a run, `quick` or `full`; `-` if it has none."""
    return str(record.plan.get("form", "-"))


def machine(record: RunRecord) -> str:
    """Returns the name of a run's machine; `-` if it is not recorded."""
    return str(record.environment.get("host", "-"))


def clock_text(record: RunRecord) -> str:
    if record.clock is Clock.VIRTUAL:
        return "virtual: computing takes no time (in the virtual-time kernel)"
    executor = record.setting("executor") or record.setting("machine")  # its name in version 0.1.0
    kinds = {"uml": "User-Mode Linux", "lab": "User-Mode Linux", "vm": "a VM"}
    return f"real (in {kinds[executor]})" if executor in kinds else "real"


def status_text(record: RunRecord) -> str:
    """Returns the status of a run from `with_actual_status`; one on another machine may have been killed unnoticed."""
    is_known = record.status is not RunStatus.RUNNING or machine(record) == platform.node()
    return str(record.status) if is_known else "running, or killed"


def headlines(record: RunRecord) -> list[str] | None:
    """Returns the headline metrics in a run's plan; None if it names none."""
    named = record.plan.get("headlines")
    return [str(name) for name in named] if isinstance(named, list) else None


def planned_cells(plan: Mapping[str, Any]) -> int:
    """Returns the number of cells of a plan: the product of its axes, restricted and repeated; 0 if it has no axes."""
    axes, only, repeat = plan.get("axes"), plan.get("only") or {}, plan.get("repeat")
    if not isinstance(axes, Mapping) or not isinstance(only, Mapping) or not isinstance(repeat, int):
        return 0
    count = repeat
    for name, values in axes.items():
        if not isinstance(values, list):
            return 0
        wanted = only.get(name)
        count *= sum(str(value) in wanted for value in values) if isinstance(wanted, list) else len(values)
    return max(0, count)
