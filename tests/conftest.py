"""What several tests share."""

from collections.abc import Callable

import pytest

from topologies import sandbox


@pytest.fixture
def sandboxed() -> Callable[[Callable[[], object]], None]:
    """Runs a function in a sandbox of its own; what it raises is printed there and fails the test."""

    def run(body: Callable[[], object]) -> None:
        def main() -> int:
            body()
            return 0

        assert sandbox.run_inside(main) == 0, "failed in the sandbox: see its traceback above"

    return run
