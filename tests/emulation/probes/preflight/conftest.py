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
def unchanged_end(end: FarEnd) -> Iterator[FarEnd]:
    """A far end where the test leaves no file, and no stored measurement either."""
    before = end.stored()
    yield end
    assert end.left() == []
    assert end.stored() == before


@pytest.fixture
def own_end() -> Iterator[FarEnd]:
    """A far end of the test's own."""
    with far_end() as running:
        yield running
