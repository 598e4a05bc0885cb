"""What runs in a guest: checks a plan or measures a cell there, as the file in the shared folder asks.

    python -m execution.guest_side

Started by `guests.py` on the host, which reads the answer. It starts nothing on a machine that is no guest.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from execution.exchange import (
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
from execution.executor import LocalExecutor, measure_here
from execution.guests.guest import SHARED
from execution.progress import LiveProgress
from experiments import catalogue
from experiments.plan import Plan
from flightpath.errors import FlightpathError

_PERIOD_S = 0.2


def main() -> int:
    """Answers the request of the host; the exit code is 0 whenever there is an answer."""
    if SHARED not in os.environ:
        raise SystemExit("error: this is started by a scenario with --machine lab or vm")
    shared = Path(os.environ[SHARED])
    request = Request.model_validate_json((shared / REQUEST).read_text(encoding="utf-8"))
    scenario = catalogue.find(request.scenario) or catalogue.load(request.file)
    machine, plan = LocalExecutor(), Plan.from_json(request.plan)

    def check() -> Answer:
        return answer_with_plan(machine.prepare(scenario, plan, shorten=request.shorten))

    checked = _answer_or_error(check)
    if request.order is None or checked.error is not None:
        write(checked, shared, ANSWER)
        return 0
    cell, artifacts = plan.cells()[request.order], request.artifacts

    def measure() -> Answer:
        with LiveProgress(lambda progress: write(progress, shared, PROGRESS), cell.label, _PERIOD_S) as live:
            return answer_with_result(measure_here(scenario, plan, cell, artifacts, live.update, live))

    def main_in_sandbox() -> int:
        write(_answer_or_error(measure), shared, ANSWER)
        return 0

    try:
        return machine.run(main_in_sandbox, [shared, artifacts])
    except FlightpathError as error:  # there is no sandbox, or it was killed and could not answer
        write(_error(error), shared, ANSWER)
        return 0


def _answer_or_error(compute: Callable[[], Answer]) -> Answer:
    try:
        return compute()
    except FlightpathError as error:
        return _error(error)


def _error(error: FlightpathError) -> Answer:
    return Answer(error=GuestError.of(error))


if __name__ == "__main__":
    sys.exit(main())
