"""Fixtures of the tests that run in a virtual machine."""

import pytest

from topologies.sandbox import sandbox
from topologies.testbed.openvswitch import has_kernel_datapath


@pytest.fixture(scope="module")
def needs_kernel_datapath() -> None:
    """Skips tests if the kernel has no datapath for Open vSwitch; `make test-vm` runs them in a VM."""
    if sandbox.run_inside(lambda: 0 if has_kernel_datapath() else 1) != 0:
        pytest.skip("this kernel has no openvswitch datapath")
