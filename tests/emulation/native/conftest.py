"""Links for the tests of the relay."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.c_builds import make
from tests.support.relay_link import Link


@pytest.fixture(scope="session")
def built() -> None:
    """Both builds are those of the sources."""
    make("all", "sanitize")


@pytest.fixture
def make_link(built, tmp_path) -> Iterator[Callable[..., Link]]:
    with ExitStack() as stack:

        def make(a_to_b: str = "", b_to_a: str | None = None, *options: str, program: str = "relay") -> Link:
            folder = Path(tempfile.mkdtemp(dir=tmp_path))
            return Link(stack, folder, a_to_b, a_to_b if b_to_a is None else b_to_a, *options, program=program)

        yield make
