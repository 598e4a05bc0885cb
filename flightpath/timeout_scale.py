"""Scaling of timeouts on slow machines, where limits that reveal a fault elsewhere are too short."""

import os

SLOW_MACHINE = "FLIGHTPATH_SLOW_MACHINE"
"""Environment variable that marks the machine as slow, for example a VM without KVM."""

_SLOWDOWN = 8.0


def timeout_scale() -> float:
    """The factor by which every timeout is multiplied: 1, or more if FLIGHTPATH_SLOW_MACHINE is set."""
    return _SLOWDOWN if os.environ.get(SLOW_MACHINE) else 1.0
