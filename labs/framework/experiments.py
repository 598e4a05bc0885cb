"""Experiments with students' work: in virtual time, where a slow machine costs no marks, or by this machine's clock."""

import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from execution.guests.calling import called
from execution.guests.guest import Guest
from execution.guests.process import ProcessGuest
from execution.uml import kernel
from execution.uml.inspection import ClockStoodStill
from execution.uml.uml import UserModeLinux
from flightpath.clock import Clock
from labs.framework.inside import RECORDED, Experiment, Experiments, failed, measure_all
from labs.framework.lab import Measured
from labs.framework.work import Submission

TIME_LIMIT_S = 450.0
"""Limit for one experiment, on this machine's clock."""

_LOOP_S = 15.0
"""Processor time after which a program that never waits counts as an endless loop, which stops virtual time."""
_DAEMONS = frozenset({"ovs-vswitchd", "ovsdb-server"})
"""Programs of the network: when they compute without end, it is not the student's fault."""
_LOOP_HINT = "Is there a loop without an end? One that waits for something must sleep, or block until it happens."
_SEED = 1
_MEMORY_MIB = 1024


def measure(
    submissions: Sequence[Submission], clock: Clock = Clock.VIRTUAL, *, recording: Path | None = None
) -> list[Measured]:
    """Makes the experiments of some submissions, one after the other, in one guest.

    Args:
        recording: file for the packets of a single submission.
    """
    experiments = [
        Experiment(folder=str(each.work.folder.absolute()), draw=secrets.randbits(64)) for each in submissions
    ]
    guest = _virtual if clock is Clock.VIRTUAL else ProcessGuest
    try:
        request = Experiments(of=experiments, is_recorded=recording is not None)
        with called(guest, measure_all, request) as call:
            try:
                return call.wait(TIME_LIMIT_S * len(experiments))
            finally:
                if recording is not None and (made := call.guest.shared / RECORDED).exists():
                    shutil.copyfile(made, recording)
    except ClockStoodStill as error:
        if len(submissions) > 1:  # nobody knows whose program it was
            return [result for each in submissions for result in measure([each], clock)]
        if error.program in _DAEMONS:
            return [failed(f"{error.args[0]}. That is no fault of this work: check it again, and report this.")]
        return [failed(f"{error.program} computed for {_LOOP_S:g} s and never waited. {_LOOP_HINT}")]


def _virtual(argv: Sequence[str]) -> Guest:
    machine = UserModeLinux(kernel.find(), memory_mib=_MEMORY_MIB, seed=_SEED, standstill_s=_LOOP_S, untrusted=True)
    return machine.guest(argv)
