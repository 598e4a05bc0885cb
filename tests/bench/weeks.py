"""Twelve weeks of a path that preflight measures every six hours: are its alerts and its predictions right?

`python -m tests.bench weeks --rounds 1` starts a virtual-time kernel, in which the weeks pass in minutes. There, the
command of an installed unit measures a real sshd over an emulated link, which changes before each measurement: noise, a
daily cycle, a level shift, an upgrade, and faults. So what was right to say of each measurement is known.
"""

import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from execution.uml import kernel
from probes.preflight.history.health import Health
from probes.preflight.history.prediction import COVERAGE, RECENT, has_just_changed, needed, predict
from services.sshd import Sshd
from tests.bench.figures import Figure
from tests.support.congestion_links import plain_network
from tests.support.preflight_in_host import preflight_in
from topologies.hosts.multihomed import LARGE_TCP_BUFFERS
from topologies.links.changes import DIRECTIONS
from topologies.links.events import LinkEvent
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "12 weeks of preflight"
CHECKS, EVERY_S = 12 * 7 * 4, 6 * 3600
LINK = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.01)
DAY = (1.0, 0.9, 0.75, 0.85)
"""Shares of the bandwidth that are left at the four times of day."""

NOISE, REMEMBERED = 0.05, 0.6
"""Spread of the bandwidth's logarithm, and the part of a deviation that remains at the next measurement."""

LEVEL_SHIFT, UPGRADE = 124, 236
LEVELS = {0: 1.0, LEVEL_SHIFT: 0.7, UPGRADE: 1.05}
"""Share of the bandwidth from a measurement on. The level shift is a fault that stays; the upgrade is none."""

FAULTS = ("bandwidth=0.6", "blackhole=on", "bandwidth=0.3", "loss=3%", "down", "delay=100ms", "bandwidth=0.7")
"""Changes of the link for three measurements; a bandwidth as the share that is left."""

LASTS = 3
FAULTS_AT = (*range(40, 120, 11), *range(158, 224, 13), *range(270, 325, 13))
FAULTS_COUNT = len(FAULTS_AT) + 1
GIVEN = "predictions given: in interval"
WHEN = ("first after a change", "second after a change", "third after a change", "fourth after a change", "settled")
"""Names of a measurement by how many others there were since the link changed."""

DEMANDED: dict[str, tuple[str, float | None, float | None]] = {
    "duration": ("min", None, 10),
    "faults that were alerts": (f"of {FAULTS_COUNT}", 19, None),
    "alerts without a fault": ("in 200", None, 1),
    GIVEN: ("%", 100 * COVERAGE, None),
}
"""Unit, at least, at most; all other figures are shares of predictions."""


@dataclass(frozen=True)
class Check:
    """One measurement: what was done to the link, and what preflight said.

    Attributes:
        fault: the measurement with which the fault began that goes on; None without one.
        state: the measurement from which the link has been as it is, with its fault or its level.
        expected: what is right to say while the fault goes on.
        goodput_bps: None if nothing was measured.
    """

    fault: int | None
    state: int
    expected: str
    health: str
    alert: bool
    goodput_bps: float | None


def measure(number: int) -> Iterator[str | Figure]:
    kernel.find()
    yield f"{CHECKS} measurements"
    begun = time.monotonic()
    in_uml = (sys.executable, "-m", "execution.virtual", "--discard", "--seed", str(number), "--")
    command = [*in_uml, sys.executable, "-m", "tests.bench.weeks", str(number)]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    figures = {"duration": (time.monotonic() - begun) / 60}
    figures |= judged([Check(**json.loads(line)) for line in output.splitlines()])
    for name, value in figures.items():
        yield Figure(SECTION, name, [value], *DEMANDED.get(name, ("%",)))


def judged(checks: Sequence[Check]) -> dict[str, float]:
    seen = {each.fault for each in checks if each.alert and each.fault is not None and each.health == each.expected}
    begun = [now for before, now in itertools.pairwise(checks) if now.alert and not before.alert]
    return {
        "faults that were alerts": len(seen),
        "alerts without a fault": 200 * sum(each.fault is None for each in begun) / len(checks),
        **judged_predictions([each for each in checks if each.goodput_bps]),
    }


def judged_predictions(checks: Sequence[Check]) -> dict[str, float]:
    """Returns what was predicted before each measurement, by how many others there were since the link changed."""
    answers, widths = {when: list[str]() for when in WHEN}, list[float]()
    values, states = [each.goodput_bps or 0.0 for each in checks], [each.state for each in checks]
    for now in range(needed() + RECENT, len(checks)):
        since = next(number for number in range(now + 1) if number == now or states[now - number - 1] != states[now])
        expected = predict(values[:now])
        low, high = expected.low or 0.0, expected.high or math.inf
        widths.append(high / low - 1)
        inside = "in interval" if low <= values[now] <= high else "missed"
        answers[WHEN[min(since, len(WHEN) - 1)]].append("unknown" if has_just_changed(values[:now]) else inside)
    given = [answer for each in answers.values() for answer in each if answer != "unknown"]
    return {
        GIVEN: 100 * given.count("in interval") / len(given),
        "width of an interval": 100 * statistics.median(widths),
        **{
            f"{when}: {answer}": 100 * each.count(answer) / len(each)
            for when, each in answers.items()
            for answer in ("in interval", "missed", "unknown")
        },
    }


def measured_weeks(seed: int) -> Iterator[Check]:
    """Measures for twelve weeks of this kernel's clock; without a sandbox, whose keeper looks around once a second."""
    noise, deviation = random.Random(seed), 0.0
    with ExitStack() as stack:
        net = stack.enter_context(plain_network())
        settings = {"congestion_control": "cubic", "sysctls": LARGE_TCP_BUFFERS}
        client, server = (net.addHost(f"h{n}", addresses={0: (f"10.0.0.{n}/24",)}, **settings) for n in (1, 2))
        link = net.addLink(client, server, port1=0, port2=0, cls=RelayLink, spec=LINK)
        net.start()
        sshd = stack.enter_context(Sshd(server, server.address(), TEMPORARY / "sshd"))
        preflight = stack.enter_context(preflight_in(client))
        pinned = ("--host", sshd.name, "--time", "1s", "--no-route")
        assert preflight("profile", "add", "weeks", *pinned)[0] == 0
        for check in range(CHECKS):
            deviation = REMEMBERED * deviation + noise.gauss(0, NOISE * math.sqrt(1 - REMEMBERED**2))
            fault = fault_at(check)
            event_at(check, math.exp(deviation)).apply(link, DIRECTIONS)
            run = ("service", "run", "weeks", "-F", str(sshd.client_configuration), "--json")
            (path,) = json.loads(preflight(*run)[1])["paths"]
            expected = Health.FAILED if change_of(fault) in ("blackhole=on", "down") else Health.WORSE
            state = level_at(check) if fault is None else fault
            yield Check(fault, state, expected, path["verdict"], path["alert"], path["goodput_bps"])
            time.sleep(EVERY_S - time.time() % EVERY_S)


def event_at(check: int, noise: float) -> LinkEvent:
    """Returns what happens to the link before a measurement."""
    key, _, value = change_of(fault_at(check)).partition("=")
    share = LEVELS[level_at(check)] * DAY[check % len(DAY)] * noise * (float(value) if key == "bandwidth" else 1.0)
    changes = {"bandwidth": f"{LINK.bandwidth_bps * share:.0f}bit", "delay": "10ms", "loss": "0%"}
    changes |= {key: value} if key in ("delay", "loss") else {}
    return LinkEvent(0, "h1-h2", key != "down", key == "blackhole", tuple(changes.items()))


def change_of(fault: int | None) -> str:
    return FAULTS[FAULTS_AT.index(fault) % len(FAULTS)] if fault in FAULTS_AT else ""


def fault_at(check: int) -> int | None:
    """Returns the measurement with which a fault began that goes on."""
    short = next((start for start in FAULTS_AT if start <= check < start + LASTS), None)
    return LEVEL_SHIFT if short is None and LEVEL_SHIFT <= check < UPGRADE else short


def level_at(check: int) -> int:
    """Returns the measurement from which the level holds."""
    return max(start for start in LEVELS if start <= check)


if __name__ == "__main__":
    TEMPORARY.mkdir(parents=True, exist_ok=True)
    for each in measured_weeks(int(sys.argv[1])):
        print(json.dumps(asdict(each)), flush=True)
