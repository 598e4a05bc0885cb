"""What runs in a guest: checks a plan or measures a cell there, as the file in the shared folder asks.

    python -m scenarios.framework.guest_side

Started by `guests.py` on the host, which reads the answer. It starts nothing on a machine that is no guest.
"""

import os
import sys
from pathlib import Path

from flightpath.errors import FlightpathError
from machines.guest import SHARED
from results.exchange.progress import CellProgress
from scenarios.framework import catalogue
from scenarios.framework.guest_exchange import (
    ANSWER,
    PROGRESS,
    REQUEST,
    Answer,
    GuestError,
    Request,
    answer_with_plan,
    answer_with_result,
    write,
)
from scenarios.framework.machine import Here, measure_here
from scenarios.framework.plan import Plan
from scenarios.framework.progress import LiveProgress
from scenarios.framework.scenario import Scenario

_PERIOD_S = 0.2


def main() -> int:
    """Answers the request of the host; the exit code is 0 whenever there is an answer."""
    if SHARED not in os.environ:
        raise SystemExit("error: this is started by a scenario with --machine lab or vm")
    shared = Path(os.environ[SHARED])
    request = Request.model_validate_json((shared / REQUEST).read_text(encoding="utf-8"))
    scenario = catalogue.find(request.scenario) or catalogue.load(request.file)
    machine = Here()

    def answer() -> int:
        try:
            write(_answer(scenario, plan, request, shared), shared, ANSWER)
        except FlightpathError as error:
            write(Answer(error=GuestError.of(error)), shared, ANSWER)
        return 0

    try:
        plan = machine.prepare(scenario, Plan.from_json(request.plan), shorten=request.shorten)
    except FlightpathError as error:
        write(Answer(error=GuestError.of(error)), shared, ANSWER)
        return 0
    return machine.run(answer, [shared, *filter(None, [request.artifacts])])


def _answer(scenario: Scenario, plan: Plan, request: Request, shared: Path) -> Answer:
    if request.order is None or request.artifacts is None:
        return answer_with_plan(plan)
    cell = plan.cells()[request.order]

    def report(progress: CellProgress) -> None:
        write(progress, shared, PROGRESS)

    with LiveProgress(report, cell.label, _PERIOD_S) as live:
        result = measure_here(scenario, plan, cell, request.artifacts, live.update, live)
    return answer_with_result(result)


if __name__ == "__main__":
    sys.exit(main())
