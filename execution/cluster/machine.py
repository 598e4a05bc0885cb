"""The machine of a worker: facts about it, and the proof of what it can.

The proof is what the doctor finds missing, and whether links are there what they should be. One worker of a machine
finds it out, and the others, and those that are started within the hour, read it.
"""

import contextlib
import fcntl
import functools
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from execution.cluster import turns
from execution.guest_executors import max_parallel_kernels
from execution.guests.calling import called
from execution.guests.guest import Guest
from execution.guests.process import ProcessGuest
from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from experiments.fidelity.calibration import judge_calibration
from flightpath.clock import Clock
from flightpath.errors import FlightpathError
from flightpath.identity import identity
from flightpath.processes import memory_bytes
from results.records import Verdict
from topologies.doctor.check import State
from topologies.doctor.examination import examine_machine
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

_MEMORY_MIB, _LIMIT_S, _VALID_S = 1024, 120.0, 3600.0


own_identity = functools.cache(identity)
"""Version and commit of what this process has loaded, whatever becomes of the checkout meanwhile."""


@functools.cache
def this_machine() -> dict[str, Any]:
    """Facts about this machine, as JSON values; the first call may take half a minute, and says so.

    `machine` tells machines apart, even where several have one name; several workers on one machine share it. `clocks`
    are those by which it can measure, `labs` is how many cells of virtual time at once, `proof` what `prove` found.
    """
    machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    proof = prove({"machine": machine, **own_identity()}, lambda text: print(text, flush=True))
    clocks = [clock for clock in Clock if not proof.clocks[clock].why_not]
    return {
        "host": platform.node(),
        "machine": machine,
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_bytes()["MemTotal"],
        "clocks": [str(clock) for clock in clocks],
        "labs": max_parallel_kernels() if Clock.VIRTUAL in clocks else 0,
        "identity": own_identity(),
        "proof": json.loads(proof.model_dump_json()),
    }


def difference(worker: Mapping[str, Any], wanted: Mapping[str, str]) -> str:
    """Returns why a worker may not measure what a version and commit of Flightpath wants; empty if it may."""
    there = worker["identity"]
    return "" if there == wanted else f"{worker['host']} has {_words(there)} instead of {_words(wanted)}"


def _words(of: Mapping[str, str]) -> str:
    commit = of.get("commit")
    return f"Flightpath {of['flightpath']}" + (f" at commit {commit}" if commit else "")


class ProvenLink(BaseModel):
    """The link that is measured."""

    bandwidth_bps: int = 100_000_000
    delay_s: float = 0.01


class LinkProof(BaseModel):
    """A link of 100 Mb/s and 10 ms, measured on one clock of a machine.

    Attributes:
        why_not: reason why cells cannot be measured on this clock; empty if they can.
        reasons: deviations of the link from its specification.
        links: both directions, as they were measured (`LinkCalibration`).
    """

    why_not: str = ""
    reasons: list[str] = []
    links: list[dict[str, Any]] = []


class Proof(BaseModel):
    """The abilities of a machine, as they were tried.

    Attributes:
        missing, limited: names of the doctor's checks that found that.
        clocks: the link on the real clock and in virtual time.
    """

    missing: list[str] = []
    limited: list[str] = []
    clocks: dict[Clock, LinkProof] = {}


class _Kept(BaseModel):
    of: dict[str, str]
    at_s: float
    proof: Proof


def prove(of: Mapping[str, str], tell: Callable[[str], None]) -> Proof:
    """Examines this machine, or reads the result if another worker did so within the last hour.

    Args:
        of: machine and commit that are proven; others need a proof of their own.
    """
    file = turns.folder() / "proof.json"
    with turns.opened("proof") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(OSError, ValidationError):
            kept = _Kept.model_validate_json(file.read_text(encoding="utf-8"))
            if kept.of == of and 0 <= time.time() - kept.at_s < _VALID_S:
                return kept.proof
        tell("examining this machine, which takes half a minute")
        proof = _found()
        file.write_text(_Kept(of=dict(of), at_s=time.time(), proof=proof).model_dump_json(), encoding="utf-8")
        return proof


def _found() -> Proof:
    examined = examine_machine().results
    named = {state: [result.name for result in examined if result.state is state] for state in State}
    with turns.turn(alone=True, check=lambda: None):
        real = _measured(ProcessGuest)
    virtual = _measured(lambda argv: UserModeLinux(kernel.find(), Clock.VIRTUAL, _MEMORY_MIB, seed=1).guest(argv))
    clocks = {Clock.REAL: real, Clock.VIRTUAL: virtual}
    return Proof(missing=named[State.MISSING], limited=named[State.LIMITED], clocks=clocks)


def _measured(start: Callable[[Sequence[str]], Guest]) -> LinkProof:
    try:
        with called(start, measure_link, ProvenLink()) as call:
            return call.wait(_LIMIT_S)
    except FlightpathError as error:
        return LinkProof(why_not=str(error))


def measure_link(link: ProvenLink) -> LinkProof:
    """Measures a link in a sandbox."""
    spec = LinkSpec(bandwidth_bps=link.bandwidth_bps, delay_s=link.delay_s)

    def measure() -> LinkProof:
        with Testbed(DtnPair(link=spec, switched=False)) as testbed:
            calibration = testbed.calibrate()
        findings = judge_calibration(calibration)
        unusable = [finding.reason for finding in findings if finding.verdict is Verdict.UNUSABLE]
        links = json.loads(json.dumps([asdict(measured) for measured in calibration.links], default=str))
        return LinkProof(why_not="; ".join(unusable), reasons=[finding.reason for finding in findings], links=links)

    return sandbox.call_inside(measure)
