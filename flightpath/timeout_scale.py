"""How long this machine may take: a limit that tells a fault on a real processor is too short on an emulated one."""

import os

SLOW_MACHINE = "FLIGHTPATH_SLOW_MACHINE"
_SLOWER = 8.0


def patience() -> float:
    """By what limits on waiting are multiplied: more than 1 where FLIGHTPATH_SLOW_MACHINE is set (a VM without KVM)."""
    return _SLOWER if os.environ.get(SLOW_MACHINE) else 1.0
