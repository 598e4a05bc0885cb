"""Far ends for the tests of preflight."""

from collections.abc import Iterator

import pytest

from tests.support.ssh_far_end import FarEnd, far_end


@pytest.fixture(scope="module")
def end() -> Iterator[FarEnd]:
    """A far end that no test changes."""
    with far_end() as running:
        yield running


@pytest.fixture
def own_end() -> Iterator[FarEnd]:
    """A far end of the test's own."""
    with far_end() as running:
        yield running
