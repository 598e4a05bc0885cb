"""Priority for the tests that prove the real clock: BPF programs need a JIT, which the virtual-time kernel lacks."""

import contextlib
import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def real_time_priority() -> Iterator[None]:
    """Runs these tests, and what they start, before every ordinary process of this machine: SCHED_RR, sched(7)."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(PermissionError):  # without root, or in a container that forbids it
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    yield
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, policy, parameters)
