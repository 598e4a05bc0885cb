"""Twelve virtual weeks of a path that the service measures every six hours: its alerts, and its predictions.

The path is busy every noon and noisy always. Nineteen times something fails for eighteen hours, and in the twelfth week
it becomes slower for good. docs/preflight.md quotes what `-s` prints.
"""

import json
import math
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.preflight_in_host import preflight_over_a_link

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox, pytest.mark.nightly, pytest.mark.timeout(3600)]

START, EVERY = datetime(2027, 1, 4, 8, tzinfo=UTC), timedelta(hours=6)
CHECKS, FIRST, LASTS = 12 * 7 * 4, 40, 3
RATE_BPS, NOISE, NOON = 20e6, 0.04, 0.75
KINDS = ({"slower": 0.6}, {"loss": 0.02}, {"loss": 1.0}, {"slower": 0.7})
FAULTS = {FIRST + 14 * number + number % 4: KINDS[number % len(KINDS)] for number in range(19)}
LEVEL_SHIFT, SHIFTED = 312, {"slower": 0.7}


def fault_at(check: int) -> int | None:
    """The check with which the fault began that lasts at this one."""
    if check >= LEVEL_SHIFT:
        return LEVEL_SHIFT
    return next((start for start in FAULTS if start <= check < start + LASTS), None)


def links() -> Iterator[dict[str, float]]:
    """The link at each check."""
    noise = random.Random(42)
    for check in range(CHECKS):
        start = fault_at(check)
        fault = {} if start is None else SHIFTED if start == LEVEL_SHIFT else FAULTS[start]
        usual = RATE_BPS * (NOON if check % 4 == 1 else 1.0) * math.exp(noise.gauss(0, NOISE))
        yield {"bandwidth_bps": round(usual * fault.get("slower", 1.0)), "loss": fault.get("loss", 0.0)}


def test_alerts_are_of_faults_and_intervals_hold_what_they_promise():
    seen: set[int] = set()
    false_alarms, epoch_s = [], time.time() - time.monotonic()
    with preflight_over_a_link() as (testbed, sshd, preflight):
        limits = ["--connect-limit", "3s", "--stall", "3s"]
        words = ["-F", str(sshd.client_configuration), "--daily-limit", "1TB", "--every", "6h", *limits, "--json"]
        assert preflight("profile", "add", "weeks", "--host", "dtn", "--size", "2MB", "--no-route")[0] == 0
        try:
            for check, fields in enumerate(links()):
                testbed.link("h1", 0).change(**fields)
                time.clock_settime(time.CLOCK_REALTIME, (START + check * EVERY).timestamp())
                _, printed = preflight("service", "run", "weeks", *words)
                (path,), start = json.loads(printed)["paths"], fault_at(check)
                if path["alert"] and start is not None:
                    seen.add(start)
                elif path["alert"] and json.loads(printed)["changed"] and fault_at(check - 1) is None:
                    false_alarms.append((check, path["reason"]))
            tests = json.loads(preflight("predict", "--profile", "weeks", "--back-test", "--json")[1])["back_tests"]
            print(preflight("predict", "--profile", "weeks", "--back-test")[1])
        finally:
            time.clock_settime(time.CLOCK_REALTIME, epoch_s + time.monotonic())
    planted = len(FAULTS) + 1
    print(f"{CHECKS} checks: {len(seen)} of {planted} faults were alerts, {len(false_alarms)} false alarms")
    assert len(seen) >= planted - 1, f"missed: { ({*FAULTS, LEVEL_SHIFT} - seen) }"
    assert len(false_alarms) <= CHECKS / 200, false_alarms
    assert tests["goodput"]["coverage"] > 0.8 and tests["rtt"]["coverage"] > 0.8, tests
