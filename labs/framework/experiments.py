"""Experiments with students' work: in virtual time, where a slow machine costs no marks, or by this machine's clock."""

import secrets
from collections.abc import Sequence

from execution.guests.calling import called
from execution.guests.guest import Guest
from execution.guests.process import ProcessGuest
from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from flightpath.clock import Clock
from labs.framework.inside import Experiment, Experiments, measure_all
from labs.framework.lab import Measured
from labs.framework.work import Submission

TIME_LIMIT_S = 450.0
"""Limit for one experiment, on this machine's clock."""

_SEED = 1
_MEMORY_MIB = 1024


def measure(submissions: Sequence[Submission], clock: Clock = Clock.VIRTUAL) -> list[Measured]:
    """Makes the experiments of some submissions, one after the other, in one guest.

    Raises:
        MissingCapability: there is no virtual-time kernel, or what the real clock needs is missing.
        MeasurementFailed: the guest ended early, or ran out of time.
    """
    experiments = [
        Experiment(folder=str(each.work.folder.absolute()), draw=secrets.randbits(64)) for each in submissions
    ]
    with called(_virtual if clock is Clock.VIRTUAL else ProcessGuest, measure_all, Experiments(of=experiments)) as call:
        return call.wait(TIME_LIMIT_S * len(experiments))


def _virtual(argv: Sequence[str]) -> Guest:
    return UserModeLinux(kernel.find(), memory_mib=_MEMORY_MIB, seed=_SEED, untrusted=True).guest(argv)
