"""What the tests in a virtual machine share."""

import pytest

from topologies.sandbox import sandbox
from topologies.testbed.openvswitch import has_kernel_datapath


@pytest.fixture(scope="module")
def needs_kernel_datapath() -> None:
    """Skips where it is missing: run these with `make test-vm`."""
    if sandbox.run_inside(lambda: 0 if has_kernel_datapath() else 1) != 0:
        pytest.skip("this kernel has no openvswitch datapath")
