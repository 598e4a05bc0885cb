"""Priority for all tests of BPF programs: they prove the real clock, because the virtual-time kernel has no JIT."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def _prompt(real_time_priority: None) -> None:
    """Lets each test here come before every ordinary process."""
