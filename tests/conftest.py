"""What several tests share."""

from collections.abc import Callable

import pytest
from hypothesis import settings

from flightpath.errors import FlightpathError
from topologies import sandbox
from topologies.emulators import EMULATORS, choose_emulator

settings.register_profile("flightpath", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("flightpath")


@pytest.fixture
def sandboxed() -> Callable[[Callable[[], object]], None]:
    """Runs a function in a sandbox of its own; what it raises is printed there and fails the test."""

    def run(body: Callable[[], object]) -> None:
        def main() -> int:
            body()
            return 0

        assert sandbox.run_inside(main) == 0, "failed in the sandbox: see its traceback above"

    return run


@pytest.fixture(params=[name for name in EMULATORS if name != "auto"], scope="session")
def emulator(request: pytest.FixtureRequest) -> str:
    """Each link emulator that works on this machine; the others are skipped by name."""
    try:
        return choose_emulator(request.param)
    except FlightpathError as error:
        pytest.skip(f"{request.param}: {str(error).splitlines()[0]}")
