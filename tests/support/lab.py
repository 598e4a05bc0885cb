"""The lab kernel, for tests that need one."""

import pytest

from flightpath.errors import FlightpathError
from machines.lab import kernel


def require_lab_kernel() -> None:
    """Skips the test unless `make lab-kernel`, which is not part of `make setup`, has built one."""
    try:
        kernel.find()
    except FlightpathError as error:
        pytest.skip(str(error).replace("\n", ": "))
