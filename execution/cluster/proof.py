"""A worker's proof: what its machine lacks, and whether links are there what they should be.

One worker of a machine finds it out, and the others, and those that are started within the hour, read it.
"""

import contextlib
import fcntl
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ValidationError

from execution.cluster import turns
from execution.guests.calling import called
from execution.guests.guest import Guest
from execution.guests.process import ProcessGuest
from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from experiments.fidelity.calibration import judge_calibration
from flightpath.clock import Clock
from flightpath.errors import FlightpathError
from results.records import Verdict
from topologies.doctor.check import State
from topologies.doctor.examination import examine_machine
from topologies.dtn_pair import DtnPair
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

_MEMORY_MIB, _LIMIT_S, _VALID_S = 1024, 120.0, 3600.0


class ProvenLink(BaseModel):
    """The link that is measured."""

    bandwidth_bps: int = 100_000_000
    delay_s: float = 0.01


class LinkProof(BaseModel):
    """A link of 100 Mb/s and 10 ms, measured on one clock of a machine.

    Attributes:
        why_not: why cells cannot be measured so there; empty if they can.
        reasons: what is not as it should be.
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
    """Finds out what this machine can; reads it if that was found out within the last hour.

    Args:
        of: what the proof is of: another machine or commit needs another one.
        tell: is called with what goes on.
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
    """Measures the link in a guest."""
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
